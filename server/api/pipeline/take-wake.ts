/** Takes the wakes of other processes, beside the stages of requests: they pass no gate, and are neither logged nor counted. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { readBody } from "./body.ts";
import type { Edge } from "./edge.ts";

/** Largest body of a wake, in bytes: a thousand names of lanes, of which an origin is the longest. */
const BODY_BYTES_MAX = 1_048_576;

/**
 * Answers a wake with 204, whatever comes of it. Resolves to false, and has answered nothing, if no process of this database has signed
 * the request. Reads the body only of a request whose head is signed.
 */
export async function takeWake(
  { hop, isClosing, woken = () => {} }: Pick<Edge, "hop" | "isClosing" | "woken">,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const isBody = hop?.checkWake(request) ?? null;
  if (isBody === null) return false;
  const reading = { bytesMax: BODY_BYTES_MAX, admit() {}, reserve() {} };
  const body = await readBody(request, response, reading).catch(() => null);
  if (body === null || !isBody(body)) return false;
  woken(body.toString());
  response.writeHead(204, isClosing() ? { Connection: "close" } : {}).end();
  return true;
}
