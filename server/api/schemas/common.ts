/** Building blocks of the schemas: fields that many requests have, and the proof that a schema is its wire type. */

import { type Static, type TObject, type TProperties, type TSchema, Type } from "typebox";
import type {
  ErrorDetail,
  Metadata as WireMetadata,
  ReactionCommand as WireReactionCommand,
} from "../../../sdk/wire.ts";
import { ApiError } from "../../core/error.ts";
import { parseInstant } from "../../core/instant.ts";
import { AMOUNT_EXPECTED, parseAmount } from "../../core/payment.ts";
import { parseAddress } from "../../core/phone.ts";
import { isClockTime } from "../../core/quiet-hours.ts";
import { parseReaction, REACTION_EXPECTED } from "../../core/reaction.ts";
import { isPrefix } from "../../core/routing.ts";
import { isTimeZone } from "../../core/time-zone.ts";

/** True when the two types are one and the same. Unlike assignability it sees a field that is missing or optional. */
export type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** The schema, where its type is `Wire`; otherwise what the compiler should complain about. */
export type Proven<Wire, Schema extends TSchema> =
  Same<Static<Schema>, Wire> extends true ? Schema : { schemaDiffersFromWireType: Wire; itsType: Static<Schema> };

/**
 * Gives the schema back, and does not compile unless its type is identical to `Wire`:
 * `export const RotateKey = wire<WireRotateKey>()(closed({ … }))`.
 */
export function wire<Wire>(): <Schema extends TSchema>(schema: Schema & Proven<Wire, Schema>) => Schema {
  return (schema) => schema;
}

/** An object that has these fields and no others: an unknown one is refused by name. Every object of a request is one. */
export function closed<Properties extends TProperties>(
  properties: Properties,
  options: { description?: string; minProperties?: number } = {},
): TObject<Properties> {
  return Type.Object(properties, { ...options, additionalProperties: false });
}

/** Text of `min` to `max` characters. NUL and lone surrogates are refused for every string of every body. */
export function text(min: number, max: number, description?: string) {
  return Type.String({ minLength: min, maxLength: max, ...(description === undefined ? {} : { description }) });
}

/** Whether `value` is an instant that exists: ISO 8601 with an offset or `Z`. `2026-02-30T…` is none. */
export function isInstant(value: string): boolean {
  return parseInstant(value) !== null;
}

/** Named checks of strings that the validator knows, each with what it expects, in words. */
export const FORMATS: Readonly<Record<string, { validate(value: string): boolean; expected: string }>> = {
  address: {
    validate: (value) => parseAddress(value) !== null,
    expected: "must be a phone number in E.164 form, such as +15005550100, or an e-mail address",
  },
  phone: {
    validate: (value) => parseAddress(value)?.kind === "phone",
    expected: "must be a phone number in E.164 form, such as +15005550100",
  },
  email: { validate: (value) => parseAddress(value)?.kind === "email", expected: "must be an e-mail address" },
  amount: { validate: (value) => parseAmount(value) !== null, expected: AMOUNT_EXPECTED },
  reaction: { validate: (value) => parseReaction(value) !== null, expected: REACTION_EXPECTED },
  instant: {
    validate: isInstant,
    expected: "must be an instant in ISO 8601 with an offset or Z, such as 2026-01-31T09:30:00Z",
  },
  clockTime: { validate: isClockTime, expected: "must be a time of a day of 24 hours, such as 21:00" },
  timeZone: {
    validate: isTimeZone,
    expected: "must be a time zone of the IANA database, such as America/New_York",
  },
  prefix: {
    validate: isPrefix,
    expected: "must be a plus sign and up to 15 digits that phone numbers begin with, such as +44; + is all of them",
  },
  serverUrl: {
    validate: (value) => /^https?:\/\/[^\s/@]+(\/\S*)?$/.test(value),
    expected:
      "must be an address with http:// or https:// and without user and password, such as http://192.168.1.20:1234",
  },
  host: {
    validate: (value) => /^[^\s/@]+$/.test(value),
    expected: "must be the name or IP address of a host alone, such as smsc.carrier.example",
  },
  sender: {
    validate: (value) => /^[A-Za-z0-9 +._&-]{1,20}$/.test(value),
    expected: "must be a short code or a name of at most 20 letters, digits, spaces and + . _ & -",
  },
  countryCode: {
    validate: (value) => /^[1-9]\d{0,2}$/.test(value),
    expected: "must be the code of a country without +, such as 44",
  },
  accountSid: {
    validate: (value) => /^AC[0-9a-fA-F]{32}$/.test(value),
    expected: "must be AC and 32 hexadecimal digits, as the console of Twilio shows it",
  },
  messagingServiceSid: {
    validate: (value) => /^MG[0-9a-fA-F]{32}$/.test(value),
    expected: "must be MG and 32 hexadecimal digits, as the console of Twilio shows it",
  },
  printable: { validate: (value) => !/\p{Cc}/u.test(value), expected: "must not contain control characters" },
};

/** A phone number or iMessage e-mail. In a query a leading space of it counts as `+`. */
export const Address = Type.String({ format: "address", maxLength: 254 });

/** A phone number. In a query a leading space of it counts as `+`. */
export const Phone = Type.String({ format: "phone", maxLength: 16 });

export const Email = Type.String({ format: "email", maxLength: 254 });

/** A reaction, or its removal. */
export const ReactionCommand = Type.Unsafe<WireReactionCommand>({ type: "string", format: "reaction" });

/** An address on the web, at most 2,048 characters. What it may lead to is for the engine to judge. */
export const HttpsUrl = Type.String({ minLength: 1, maxLength: 2048 });

/** An instant with an offset or `Z`; `Date.parse` reads it. */
export const Instant = Type.String({ format: "instant", maxLength: 40 });

/** How many records a list answers: 1 to 100, 50 unless given. Not `Optional`: the default fills it in. */
const Limit = Type.Integer({ minimum: 1, maximum: 100, default: 50 });

/** Where the next page of a list starts; from `pagination.nextCursor`. */
const Cursor = Type.String({ minLength: 1, maxLength: 1024 });

/** `idempotencyKey` of a body: at most 255 characters. */
export const IdempotencyKey = text(1, 255);

/** Largest `metadata`, as compact JSON in UTF-8, in bytes: 16 KiB. */
const METADATA_BYTES_MAX = 16_384;

/** Any JSON object of at most 50 keys and 16 KiB. */
export const Metadata = Type.Unsafe<WireMetadata>({
  type: "object",
  maxProperties: 50,
  "x-bytesMax": METADATA_BYTES_MAX,
});

/** Whether `value` takes at most `max` bytes as compact JSON in UTF-8. Looks at no more of it than it takes to know. */
export function jsonBytesWithin(value: unknown, max: number): boolean {
  let least = 0;
  const left: unknown[] = [value];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    // A character is a byte at least, and so is whatever stands between two values.
    least += typeof next === "string" ? next.length + 2 : 1;
    if (least > max) return false;
    if (typeof next !== "object" || next === null) continue;
    for (const name in next) {
      if (!Array.isArray(next)) least += name.length + 3;
      if (least > max) return false;
      left.push((next as Record<string, unknown>)[name]);
    }
  }
  return Buffer.byteLength(JSON.stringify(value) ?? "") <= max;
}

/** `limit` and `cursor`, to be spread into the query of a list. */
export const page = { limit: Limit, cursor: Type.Optional(Cursor) };

/** An opaque cursor that holds `value`, which must be JSON. */
export function encodeCursor(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** What a cursor holds. One that no list has given out is a 400 on `cursor`. */
export function decodeCursor<Value>(cursor: string, is: (value: unknown) => value is Value): Value {
  const value = readCursor(cursor);
  if (is(value)) return value;
  const detail: ErrorDetail = { path: "cursor", message: "must be the nextCursor of an earlier answer of this list" };
  throw new ApiError("VALIDATION_ERROR", `cursor ${detail.message}`, { details: [detail] });
}

/** What a cursor holds, whatever list gave it out; undefined for text that is none. */
export function readCursor(cursor: string): unknown {
  const bytes = Buffer.from(cursor, "base64url");
  // The decoder skips what is not base64url; only text that it would write is a cursor.
  if (bytes.toString("base64url") !== cursor) return undefined;
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}
