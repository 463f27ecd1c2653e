/** Keeps the request log within its bounds, in rows and in age. */

import { excessOf } from "../../core/logged-request.ts";
import { countRequests } from "../../store/requests.ts";
import type { Deps } from "../deps.ts";

/** Most requests in the log: with bodies about 100 MB, and a reader passes all of them in a fraction of a second. */
const REQUESTS_MAX = 50_000;
/** How long a request stays: as long as somebody asks about last week, and no longer, since it names people. */
const AGE_MS_MAX = 7 * 86_400_000;
/** Requests that one transaction removes: a few milliseconds of the writer. */
const REMOVED_AT_ONCE = 1_000;

/** Removes old requests, and those of customers with more than their share. Returns whether there are more. */
export async function pruneRequests(
  { store, clock }: Pick<Deps, "store" | "clock">,
  max = REQUESTS_MAX,
): Promise<boolean> {
  const counts = await countRequests(store.lists("admin"));
  if (counts.size === 0) return false;
  const oldest = [...excessOf(counts, max)];
  const removal = { before: clock.real() - AGE_MS_MAX, oldest, limit: REMOVED_AT_ONCE };
  return (await store.removeRequests(removal)) >= REMOVED_AT_ONCE;
}
