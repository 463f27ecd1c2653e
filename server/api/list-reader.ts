/** The door of lists to the store: in the name of whoever asks, and only as long as it waits for the answer. */

import type { Deps } from "../engine/deps.ts";
import type { Store } from "../store/store.ts";
import { ClientGone } from "./pipeline/body.ts";
import type { ApiRequest } from "./route.ts";

/** The reason with which a list is withdrawn when its client has gone. */
export const CLIENT_GONE = new ClientGone("the client has gone");

/** Readers for the list that a call asks for. What they have not begun when its client goes is withdrawn. */
export function listReader({ store }: Pick<Deps, "store">, { caller, onGone }: ApiRequest): Store["db"] {
  const gone = new AbortController();
  onGone(() => gone.abort(CLIENT_GONE));
  return store.lists(caller?.customerId ?? "admin", gone.signal);
}
