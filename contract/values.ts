/** Values that many requests and responses have: addresses, channels, instants, metadata, pages. */

import { type Static, Type } from "typebox";
import {
  at,
  choice,
  closed,
  count,
  flag,
  optional,
  record,
  request,
  SHOWN,
  string,
  stringOrNull,
  text,
} from "./schema.ts";

/** E.164. */
const PHONE = "\\+[1-9]\\d{1,14}";
/** A dot-atom (RFC 5322, 3.2.3). */
const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
/** A label of a domain, and the last one, which has a letter. */
const LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
const LAST_LABEL = "(?:[0-9][A-Za-z0-9-]{0,61})?[A-Za-z](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
const EMAIL = `${ATOM}(?:\\.${ATOM})*@(?:${LABEL}\\.)+${LAST_LABEL}`;
const ADDRESS = `${PHONE}|${EMAIL}`;
/** A chat by its id, or a one-to-one thread in the form of Apple's Messages. */
const CHAT = `chat_[^\\x00]+|(?:iMessage|SMS);-;(?:${ADDRESS})`;

/** Rules of texts whose check comes later, with an error code of its own: for the document only. */
export const addressShown = { pattern: `^(?:${ADDRESS})$` };
/** An empty recipient counts as absent. */
export const recipientShown = { pattern: `^(?:${ADDRESS}|${CHAT})?$` };
export const instantShown = { format: "date-time" };
/** A year that 4 divides, and of the centuries those that 400 divides. */
const LEAP_YEAR = "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)";
const DAY_OF_MONTH = [
  "(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])",
  "(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)",
  "02-(?:0[1-9]|1\\d|2[0-8])",
];
const DATE = `(?:\\d{4}-(?:${DAY_OF_MONTH.join("|")})|${LEAP_YEAR}-02-29)`;
const TIME = "(?:[01]\\d|2[0-3]):[0-5]\\d";
/** A date, or an instant with an offset or `Z`. */
export const boundShown = {
  pattern: `^${DATE}(?:[Tt]${TIME}(?::[0-5]\\d(?:\\.\\d{1,9})?)?(?:[Zz]|[+-]${TIME}))?$`,
};

/** A phone number or iMessage e-mail. In a query a leading space counts as `+`. */
export const Address = Type.String({ format: "address", maxLength: 254, [SHOWN]: addressShown });

/** A phone number. In a query a leading space counts as `+`. */
export const Phone = Type.String({ format: "phone", maxLength: 16, [SHOWN]: { pattern: `^${PHONE}$` } });

/** A chat in a query: its id, or the address of a one-to-one thread, in which a leading space counts as `+`. */
export const ChatName = Type.String({
  format: "chatName",
  minLength: 1,
  maxLength: 512,
  [SHOWN]: { pattern: "^[^\\x00]*$" },
});

export const Email = Type.String({ format: "email", maxLength: 254, [SHOWN]: { format: "email" } });

/** A URL that the service will call or fetch. */
export const HttpsUrl = Type.String({
  minLength: 1,
  maxLength: 2048,
  [SHOWN]: { format: "uri", pattern: "^[Hh][Tt][Tt][Pp][Ss]?://[^\\s@\\x00-\\x20\\x7f]+$" },
});

/** An instant with an offset or `Z`. */
export const Instant = Type.String({ format: "instant", maxLength: 40, [SHOWN]: instantShown });

export const IdempotencyKey = text(1, 255, "A repeat of the request with the same key does nothing twice.");

/** Body of an action that has no parameters. */
export const IdempotentRequest = request("IdempotentRequest", "Body of an action that has no parameters.", {
  idempotencyKey: optional(IdempotencyKey),
});

/** Largest `metadata`, as compact JSON in UTF-8, in bytes. */
const METADATA_BYTES_MAX = 16_384;

/** Any JSON object of at most 50 keys and 16 KiB. */
export const metadataInput = Type.Unsafe<Metadata>({
  type: "object",
  maxProperties: 50,
  "x-bytesMax": METADATA_BYTES_MAX,
  "x-typescript": "Metadata",
  description: "Your own JSON object, returned unchanged: at most 50 keys and 16 KiB.",
});

/** A JSON object of the caller's own. */
type Metadata = Record<string, unknown>;

/** `metadata` of a response. */
export const anyMetadata = Type.Unsafe<Metadata>({
  type: "object",
  "x-typescript": "Metadata",
  description: "Your own JSON object, as you sent it.",
});

/** Any JSON object. */
export const AnyObject = Type.Unsafe<Record<string, unknown>>({ type: "object" });

export const CHANNELS = ["imessage", "sms", "rcs"] as const;
export const Channel = choice(
  "Channel",
  CHANNELS,
  "A channel that carries messages. Contacts write by RCS; no provider sends it.",
);

const Limit = Type.Integer({ minimum: 1, maximum: 100, default: 50, description: "The most records to return." });

const Cursor = Type.String({
  minLength: 1,
  maxLength: 1024,
  description: "`nextCursor` of the previous page.",
  [SHOWN]: { pattern: "^[A-Za-z0-9_-]+$" },
});

/** `limit` and `cursor` of a list. `limit` is not optional: its default fills it in. */
export const page = { limit: Limit, cursor: optional(Cursor) };

/** Query of a list that has no filters. */
export const PageQuery = closed(page);

/** The page of a list. */
export const Pagination = record("Pagination", "Position of a page in its list.", {
  hasMore: flag("Whether there is another page."),
  nextCursor: stringOrNull("The `cursor` of the next page; null on the last page."),
});

/** Response of a deletion. */
export const Deleted = record("Deleted", "Response of a deletion.", {
  id: string("Id of the deleted record."),
  deleted: Type.Literal(true, { description: "Always true." }),
});
export type DeletedRecord = Static<typeof Deleted>;

/** When a record was created and last changed. */
export const created = { createdAt: at("When the record was created.") };
export const changed = { ...created, updatedAt: at("When the record was last changed.") };

/** A number of things. */
export const size = (description: string) => count(description, { minimum: 0 });
