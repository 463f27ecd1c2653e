/** A proxy between the service and a Mac: forwards requests, unless a test responds in the Mac's place. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

/** A request to the Mac; `body` is its JSON, null if it has none. */
export interface Relayed {
  method: string;
  /** With its query. */
  path: string;
  body: Record<string, unknown> | null;
}

/** Response in place of the Mac's; `cut` ends the connection, null forwards the request. */
export type Instead = { status: number; body: string } | "cut" | null;

/** Starts a proxy before the Mac at `target`; it is stopped at the end of the test. */
export async function startRelay(t: TestContext, target: string, instead: (request: Relayed) => Instead) {
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const bytes = Buffer.concat(parts);
    const [method, path] = [request.method ?? "GET", request.url ?? "/"];
    const isJson = request.headers["content-type"]?.startsWith("application/json") === true;
    const answer = instead({ method, path, body: isJson ? JSON.parse(bytes.toString("utf8")) : null });
    if (answer === "cut") return void request.socket.destroy();
    if (answer !== null) return void response.writeHead(answer.status).end(answer.body);
    const type = request.headers["content-type"];
    const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
    const passed = await fetch(`${target}${path}`, { method, headers, ...(bytes.length === 0 ? {} : { body: bytes }) });
    response.writeHead(passed.status, { "content-type": passed.headers.get("content-type") ?? "text/plain" });
    response.end(Buffer.from(await passed.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
