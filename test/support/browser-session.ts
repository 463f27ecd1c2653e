/** Requests as a browser sends them, byte by byte, and its sign-in. */

import assert from "node:assert/strict";
import type { TestService } from "./service.ts";
import { ask as askRaw, type RawAnswer } from "./socket.ts";

/** A browser that is signed in. */
export interface SignedIn {
  cookie: string;
  csrf: string;
  id: string;
}

/** Header lines; `null` leaves a header out. */
export type BrowserHeaders = Record<string, string | null>;

/** One request, byte by byte: `null` leaves a header out. */
export async function send(
  at: TestService,
  line: string,
  headers: BrowserHeaders = {},
  body?: unknown,
): Promise<RawAnswer> {
  const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
  const port = at.service.port;
  const all: BrowserHeaders = {
    Host: `127.0.0.1:${port}`,
    ...(body === undefined
      ? {}
      : { "Content-Type": "application/json", "Content-Length": `${Buffer.byteLength(text)}` }),
    ...headers,
  };
  const lines = Object.entries(all).flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}`]));
  return await askRaw(port, `${line} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${text}`);
}

/** `Origin` of the service's own pages on loopback. */
export const originOf = (at: TestService) => `http://127.0.0.1:${at.service.port}`;

/** Signs in as a browser would. */
export async function signIn(
  at: TestService,
  body: object = { key: at.adminKey },
  headers: BrowserHeaders = {},
): Promise<SignedIn> {
  const answer = await send(at, "POST /session", { Origin: originOf(at), ...headers }, body);
  assert.equal(answer.status, 201, answer.body);
  const { id, csrfToken } = JSON.parse(answer.body).data;
  return { cookie: (answer.headers["set-cookie"] ?? "").split(";")[0] ?? "", csrf: csrfToken, id };
}
