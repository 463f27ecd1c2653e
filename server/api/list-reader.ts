/** Gives lists their access to the store: fair between customers, and only while the client waits. */

import type { Deps } from "../engine/deps.ts";
import type { Store } from "../store/store.ts";
import { ClientGone } from "./pipeline/body.ts";
import type { ApiRequest } from "./route.ts";

/** The reason with which the reads of a list are cancelled when its client has gone. */
export const CLIENT_GONE = new ClientGone("the client has gone");

/** A reader for the list that a request asks for. Reads that have not begun when the client leaves are cancelled. */
export function listReader({ store }: Pick<Deps, "store">, { caller, onGone }: ApiRequest): Store["db"] {
  const gone = new AbortController();
  onGone(() => gone.abort(CLIENT_GONE));
  return store.lists(caller?.customerId ?? "admin", gone.signal);
}
