/** The search of deliveries: its fields, and the query that a search means. Pure. */

import type { DeliveryQuery } from "../../../sdk/webhooks.ts";
import { DELIVERY_STATUSES } from "../../../sdk/wire.ts";
import type { SearchField } from "../../parts/search-line.tsx";
import { type Search, valueIn } from "../../parts/search-terms.ts";

/** The fields of the search line. */
export const DELIVERY_FIELDS: readonly SearchField[] = [
  { name: "status", hint: "pending, succeeded, exhausted, cancelled", values: DELIVERY_STATUSES },
  { name: "webhook", hint: "the id of an endpoint" },
  { name: "event", hint: "the id of an event" },
  { name: "message", hint: "the id of a message" },
];

/** Searches with a name. */
export const SAVED_DELIVERY_SEARCHES: readonly { title: string; q: string }[] = [
  { title: "All", q: "" },
  { title: "Given up", q: "status:exhausted" },
  { title: "Waiting", q: "status:pending" },
  { title: "Delivered", q: "status:succeeded" },
];

/** The field that an id among the words means. */
const FIELD_OF_ID = { wh: "webhookId", evt: "eventId", msg: "messageId" } as const;

/** The query of a search. An id without a field is taken for what it names. */
export function deliveryQueryOf(search: Search): DeliveryQuery {
  const [id, kind] = /\b(wh|evt|msg)_[\w-]+/.exec(search.words) ?? [];
  const query: DeliveryQuery = {
    status: DELIVERY_STATUSES.find((status) => status === valueIn(search, "status")),
    webhookId: valueIn(search, "webhook"),
    eventId: valueIn(search, "event"),
    messageId: valueIn(search, "message"),
    ...(id === undefined ? {} : { [FIELD_OF_ID[kind as keyof typeof FIELD_OF_ID]]: id }),
  };
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));
}
