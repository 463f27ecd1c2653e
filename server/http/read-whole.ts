/** Reads the body of a request beside `/v1`, where no edge does. */

import type { IncomingMessage, ServerResponse } from "node:http";
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
