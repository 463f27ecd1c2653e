/** A fake API on loopback: responds as a test sets it, in the service's envelope, and records requests. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { freePort } from "./free-port.ts";

/** A request as it arrived; `body` is parsed JSON, undefined when there was none. */
export interface AskedRequest {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: Record<string, string | string[] | undefined>;
  body: unknown;
}

/** The response: `data` in a success envelope, `error` in a failure's, `raw` as it stands; `drop` cuts the connection. */
export interface Answer {
  status?: number;
  headers?: Record<string, string>;
  data?: unknown;
  error?: { code: string; message: string; details?: { path: string; message: string }[] };
  raw?: string;
  drop?: boolean;
}

/** One response, several in sequence (the last repeats), or a function of the request. */
export type Route = Answer | Answer[] | ((request: AskedRequest) => Answer);

export interface FakeApi {
  url: string;
  requests: AskedRequest[];
  /** Restarts each route at its first response. */
  forget(): void;
}

/** Serves `routes` (`"GET /v1/messages"`) on a free port until the test ends; anything else is 404 `NOT_FOUND`. */
export async function startApi(t: TestContext, routes: Record<string, Route>): Promise<FakeApi> {
  const requests: AskedRequest[] = [];
  const asked = new Map<string, number>();
  const server = createServer(async (incoming, response) => {
    const request = await read(incoming);
    requests.push(request);
    const name = `${request.method} ${request.path}`;
    const turn = asked.get(name) ?? 0;
    asked.set(name, turn + 1);
    reply(response, choose(routes[name], request, turn), requests.length);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, forget: () => asked.clear() };
}

/** An address on loopback where nothing listens. */
export async function closedAddress(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}`;
}

async function read(incoming: IncomingMessage): Promise<AskedRequest> {
  const url = new URL(incoming.url ?? "/", "http://fake");
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  return {
    method: incoming.method ?? "",
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: incoming.headers,
    body: text === "" ? undefined : JSON.parse(text),
  };
}

function choose(route: Route | undefined, request: AskedRequest, turn: number): Answer {
  if (route === undefined)
    return { status: 404, error: { code: "NOT_FOUND", message: `${request.path} is not here.` } };
  if (typeof route === "function") return route(request);
  if (Array.isArray(route)) return route[Math.min(turn, route.length - 1)] ?? { drop: true };
  return route;
}

function reply(response: ServerResponse, answer: Answer, count: number): void {
  if (answer.drop) {
    response.destroy();
    return;
  }
  const requestId = `req_${count}`;
  const envelope =
    answer.error === undefined
      ? { success: true, data: answer.data ?? null, requestId }
      : { success: false, error: answer.error, requestId };
  response.writeHead(answer.status ?? 200, { "Content-Type": "application/json", ...answer.headers });
  response.end(answer.raw ?? JSON.stringify(envelope));
}
