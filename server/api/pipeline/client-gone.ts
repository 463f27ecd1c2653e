/** The end of a client: the error that ends the work of its request, and the signal that throws the error. */

import type { ServerResponse } from "node:http";

/** The client has gone or was cut off before its request was served: nobody waits for the response. */
export class ClientGone extends Error {}

/** The reason with which a signal of `goneSignal` is aborted. */
export const CLIENT_GONE = new ClientGone("the client has gone");

/** A signal that is aborted with `CLIENT_GONE` as soon as the client has gone, and after the response was sent. */
export function goneSignal(response: Pick<ServerResponse, "destroyed" | "once">): AbortSignal {
  const gone = new AbortController();
  const abort = () => gone.abort(CLIENT_GONE);
  if (response.destroyed) abort();
  else response.once("close", abort);
  return gone.signal;
}
