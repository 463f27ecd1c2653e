/** A server between a client and a service that records the requests and divides them into steps. */

import { createServer, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Scope } from "./process.ts";

/** A request without its key: path and body with `:id` in place of each id, and the query in order of its names. */
export interface RecordedRequest {
  method: string;
  path: string;
  body: unknown;
  status: number;
}

/** The requests of each step. A request to `/next-step` begins another one. */
export interface RecordingProxy {
  url: string;
  steps: RecordedRequest[][];
}

/** Starts a proxy for the service at `target`. The test ends it. */
export async function startRecordingProxy(t: Scope, target: string): Promise<RecordingProxy> {
  const steps: RecordedRequest[][] = [[]];
  const server = createServer(async (request, response) => {
    const { method = "", url = "", headers } = request;
    if (url === "/next-step") {
      steps.push([]);
      response.end();
      return;
    }
    const body = await text(request);
    const { "transfer-encoding": _, ...passed } = headers;
    const length = body === "" ? {} : { "content-length": Buffer.byteLength(body) };
    const upstream = send(new URL(url, target), { method, headers: { ...passed, ...length } }, (answer) => {
      const { statusCode: status = 0 } = answer;
      steps.at(-1)?.push({ method, path: withoutIds(sorted(url)), body: parsed(withoutIds(body)), status });
      response.writeHead(status, answer.headers);
      answer.pipe(response);
    });
    upstream.on("error", () => response.destroy());
    response.on("close", () => upstream.destroy());
    upstream.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, steps };
}

function sorted(url: string): string {
  const { pathname, searchParams } = new URL(url, "http://proxy");
  searchParams.sort();
  return decodeURIComponent(searchParams.size === 0 ? pathname : `${pathname}?${searchParams}`);
}

/** An id, such as `msg_01a2066f-d5d4-7178-b072-42f16673d241`. */
const ID = /\b[a-z]+_[0-9a-f]{8}-[0-9a-f-]{27}\b/g;

const withoutIds = (value: string): string => value.replace(ID, ":id");

/** An empty object is the same as no body. */
function parsed(body: string): unknown {
  return body === "" || body === "{}" ? null : JSON.parse(body);
}
