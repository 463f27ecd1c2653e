/** The search of messages: its fields, and the query that a search means. Pure. */

import type { MessageQuery } from "../../../sdk/messages.ts";
import {
  CHANNELS,
  type Channel,
  DIRECTIONS,
  type Direction,
  MESSAGE_STATUSES,
  type MessageStatus,
} from "../../../sdk/wire.ts";
import type { SearchField } from "../../parts/search-line.tsx";
import { instantOf, type Search, valueIn } from "../../parts/search-terms.ts";

/** The fields of the search line. */
export const MESSAGE_FIELDS: readonly SearchField[] = [
  { name: "status", hint: "failed, delivered, …", values: MESSAGE_STATUSES },
  { name: "direction", hint: "inbound or outbound", values: DIRECTIONS },
  { name: "channel", hint: "imessage, sms or rcs", values: CHANNELS },
  { name: "to", hint: "address of the recipient" },
  { name: "from", hint: "address of the sender" },
  { name: "chat", hint: "a chat id, or the contact's address" },
  { name: "since", hint: "1h, 7d or a date", examples: ["15m", "1h", "24h", "7d"] },
  { name: "before", hint: "1h, 7d or a date", examples: ["1h", "24h", "7d"] },
  { name: "external", hint: "your own identifier" },
];

/** Searches with a name. */
export const SAVED_SEARCHES: readonly { title: string; q: string }[] = [
  { title: "All", q: "" },
  { title: "Failed", q: "status:failed" },
  { title: "Received", q: "direction:inbound" },
  { title: "Scheduled", q: "status:scheduled" },
];

function oneOf<Value extends string>(values: readonly Value[], value: string | undefined): Value | undefined {
  return values.find((one) => one === value);
}

/** The query of a search, at the time `now`. */
export function queryOf(search: Search, now: number): MessageQuery {
  const query: MessageQuery = {
    status: oneOf<MessageStatus>(MESSAGE_STATUSES, valueIn(search, "status")),
    direction: oneOf<Direction>(DIRECTIONS, valueIn(search, "direction")),
    channel: oneOf<Channel>(CHANNELS, valueIn(search, "channel")),
    to: valueIn(search, "to"),
    from: valueIn(search, "from"),
    chatId: valueIn(search, "chat"),
    externalMessageId: valueIn(search, "external"),
    createdAfter: instantOf(valueIn(search, "since"), now),
    createdBefore: instantOf(valueIn(search, "before"), now),
    q: search.words === "" ? undefined : search.words,
  };
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));
}
