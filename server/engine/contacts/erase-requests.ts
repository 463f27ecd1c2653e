/**
 * Erases what the request log says about a person, a page at a time: the requests of the customer, and then those of admin keys. A page that
 * is read again names the person no more, so a process that dies begins again, and loses nothing but its time.
 */

import { erasedTexts, isAboutPerson, type Person, type ReadRequest, readRequest } from "../../core/erased-request.ts";
import type { Erasure } from "../../core/erasure.ts";
import type { ContactId, CustomerId } from "../../core/id.ts";
import { findErasedIds, listThreadIds } from "../../store/erasures.ts";
import { listRequestTexts } from "../../store/requests.ts";
import type { Deps } from "../deps.ts";

/** After this real time every process has written the requests of before to the log, a quarter of a second after each, or has lost them. */
const LOGGED_AFTER_MS = 1_000;
/** Requests of one page: a few milliseconds of the writer, and as many of this thread. */
const PAGE_REQUESTS = 100;
/** Threads that are looked for in requests: one for each of the customer's addresses and the person's. */
const THREADS_MAX = 500;
/** Ids that one statement looks for. */
const IDS_AT_ONCE = 500;

/** The requests that are left: of these owners (null: admin keys), those of the first one after this position. */
interface RequestsLeft {
  owners: readonly (CustomerId | null)[];
  after: number;
  /** When the log was first found to be all that is left of the person, in real time. */
  since: number;
}

/** How far erasures have read the log, by contact. In memory only: after a start they begin again. */
export type RequestPlaces = Map<ContactId, RequestsLeft>;

/**
 * Whether the log has all requests that read something of the person: nothing else is left of it since a second, as far as this process
 * knows. The first call begins the second.
 */
export function haveLogged({ clock }: Deps, { contactId, customerId }: Erasure, places: RequestPlaces): boolean {
  const known = places.get(contactId);
  if (known === undefined) places.set(contactId, { owners: [customerId, null], after: 0, since: clock.real() });
  return known !== undefined && known.since <= clock.real() - LOGGED_AFTER_MS;
}

/** Erases the next page, once they `haveLogged`. Returns whether there is another one. */
export async function eraseRequests(deps: Deps, erasure: Erasure, places: RequestPlaces): Promise<boolean> {
  const { store } = deps;
  const { contactId } = erasure;
  const place = places.get(contactId);
  if (place === undefined) throw new Error(`nobody waited for the log of ${contactId}`);
  const { owners, after } = place;
  const [owner = null, ...others] = owners;
  const page = await listRequestTexts(store.lists("admin"), owner, after, PAGE_REQUESTS);
  const read = page.map(readRequest);
  const person = await personOf(deps, erasure, read);
  const named = read.filter((request) => isAboutPerson(request, person));
  await store.eraseRequests(named.map(({ texts }) => ({ position: texts.position, ...erasedTexts(texts, person) })));
  const last = page.at(-1);
  const isEnd = last === undefined || page.length < PAGE_REQUESTS;
  if (isEnd && others.length === 0) {
    places.delete(contactId);
    return false;
  }
  places.set(contactId, isEnd ? { ...place, owners: others, after: 0 } : { ...place, after: last.position });
  return true;
}

/** The person, with those of their ids that the requests have. */
async function personOf({ store }: Deps, erasure: Erasure, requests: readonly ReadRequest[]): Promise<Person> {
  const { contactId, customerId, addresses } = erasure;
  const ids = new Set<string>([contactId, ...(await listThreadIds(store.db, erasure, THREADS_MAX))]);
  const unknown = requests.filter((request) => !isAboutPerson(request, { addresses, ids }));
  const asked = [...new Set(unknown.flatMap((request) => request.ids))];
  for (let index = 0; index < asked.length; index += IDS_AT_ONCE) {
    const found = await findErasedIds(store.db, customerId, asked.slice(index, index + IDS_AT_ONCE));
    for (const id of found) ids.add(id);
  }
  return { addresses, ids };
}
