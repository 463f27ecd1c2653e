/** The search of the request log: its fields, and the query that a search means. Pure. */

import type { RequestQuery } from "../../../sdk/requests.ts";
import { type ErrorCode, REQUEST_METHODS, type RequestMethod } from "../../../sdk/wire.ts";
import type { SearchField } from "../../parts/search-line.tsx";
import { instantOf, type Search, valueIn } from "../../parts/search-terms.ts";

/** The fields of the search line. */
export const LOG_FIELDS: readonly SearchField[] = [
  { name: "status", hint: "404, 4xx, 429", examples: ["2xx", "4xx", "429", "5xx"] },
  { name: "method", hint: "GET, POST, …", examples: REQUEST_METHODS },
  { name: "code", hint: "an error code" },
  { name: "path", hint: "how the path begins" },
  { name: "message", hint: "the id of a message" },
  { name: "correlation", hint: "a correlation id" },
  { name: "since", hint: "1h, 7d or a date", examples: ["15m", "1h", "24h", "7d"] },
];

/** Searches with a name. */
export const SAVED_LOG_SEARCHES: readonly { title: string; q: string }[] = [
  { title: "All", q: "" },
  { title: "Refused", q: "status:4xx" },
  { title: "Rate limited", q: "status:429" },
  { title: "Failed", q: "status:5xx" },
];

/** The query of a search, at the time `now`. A word without a field is the beginning of a path. The service refuses values that it does not know. */
export function logQueryOf(search: Search, now: number): RequestQuery {
  const query: RequestQuery = {
    status: valueIn(search, "status"),
    method: valueIn(search, "method")?.toUpperCase() as RequestMethod | undefined,
    code: valueIn(search, "code") as ErrorCode | undefined,
    path: valueIn(search, "path") ?? (search.words.startsWith("/") ? search.words : undefined),
    messageId: valueIn(search, "message"),
    correlationId: valueIn(search, "correlation"),
    since: instantOf(valueIn(search, "since"), now),
  };
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));
}
