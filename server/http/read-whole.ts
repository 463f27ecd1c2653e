/** Reads a request beside `/v1`, where no edge does: its body whole, and its headers plainly. */

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { readBody } from "./body.ts";
import { noteEarlyAnswer } from "./connection.ts";

/** The whole body. Throws as `readBody` does, with the answer on its way to a client that is still sending. */
export async function readWhole(request: IncomingMessage, response: ServerResponse, bytesMax: number): Promise<Buffer> {
  try {
    return await readBody(request, response, bytesMax);
  } catch (error) {
    // The rest is read and thrown away, so that the answer reaches its client.
    noteEarlyAnswer(request);
    request.resume();
    throw error;
  }
}

/** Headers by their lower-case names; one that came several times has its values joined by commas. */
export function joinedHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value = ""]) => [name, [value].flat().join(", ")]));
}
