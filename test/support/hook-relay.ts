/** A small HTTP server that passes requests to the hook of a provider, like the service. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Provider } from "../../server/providers/provider.ts";

export interface HookRelay {
  /** The `hookUrl` of a provider: like the service's, it names the instance. */
  url: string;
  stop(): Promise<void>;
}

/** Starts a relay for an instance. `provider` is asked at each request: null is a service that does not run (503). */
export async function startHookRelay(instanceId: string, provider: () => Provider | null): Promise<HookRelay> {
  let base = "";
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const receive = provider()?.receive;
    if (receive === undefined || !(request.url ?? "").startsWith(base)) {
      response.writeHead(receive === undefined ? 503 : 404).end();
      return;
    }
    const rest = (request.url ?? "").slice(base.length);
    const reply = await receive
      .call(provider(), {
        method: request.method === "GET" ? "GET" : "POST",
        path: rest.split("?")[0] ?? "",
        url: `${url}${rest}`,
        headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
        body: new Uint8Array(Buffer.concat(parts)),
      })
      .catch(() => ({ status: 500, contentType: undefined, body: undefined }));
    response.writeHead(reply.status, reply.contentType === undefined ? {} : { "content-type": reply.contentType });
    response.end(reply.body ?? "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `/hooks/${instanceId}/token-of-a-test`;
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${base}`;
  return {
    url,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
