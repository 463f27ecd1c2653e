/** Gives lists their access to the store: fair between customers, and only while the client waits. */

import type { Deps } from "../engine/deps.ts";
import type { Store } from "../store/store.ts";
import type { ApiRequest } from "./route.ts";

/** A reader for the list that a request asks for. Reads that have not begun when the client leaves are cancelled. */
export function listReader({ store }: Pick<Deps, "store">, { caller, gone }: ApiRequest): Store["db"] {
  return store.lists(caller?.customerId ?? "admin", gone());
}
