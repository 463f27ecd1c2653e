/** Addresses of recipients and senders: phone numbers in E.164 and iMessage e-mails. Pure except for a cache. */

import { parsePhoneNumberFromString } from "libphonenumber-js/min";
import { memoized } from "./bounded-map.ts";

export interface Address {
  kind: "phone" | "email";
  /** The stored form, for comparisons: a phone number unchanged, an e-mail address in lower case. */
  address: string;
}

/** A plus, then 2 to 15 digits that do not begin with 0 (ITU-T E.164). */
const E164 = /^\+[1-9]\d{1,14}$/;

/** RFC 5321, 4.5.3.1: a path holds 256 characters, two of them its brackets; a local part holds 64. */
const EMAIL_LENGTH_MAX = 254;
const LOCAL_PART_LENGTH_MAX = 64;

/** A dot-atom (RFC 5322, 3.2.3). */
const LOCAL_PART = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;

/** A part of a domain, of at most 63 characters (RFC 1035, 2.3.4). */
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Whether a text is two labels or more; the last one has a letter, so that no IP address passes. */
function isDomain(text: string): boolean {
  const labels = text.split(".");
  return labels.length > 1 && labels.every((label) => LABEL.test(label)) && /[a-z]/.test(labels.at(-1) ?? "");
}

/**
 * Parses an address; null if `text` is not an address. Numbers must be in E.164, without spaces or dashes: a wrong
 * guess would send to a stranger. E-mails are lower-cased, since their case does not matter.
 */
export function parseAddress(text: string): Address | null {
  if (E164.test(text)) return { kind: "phone", address: text };
  if (text.length > EMAIL_LENGTH_MAX) return null;
  const address = text.toLowerCase();
  const at = address.lastIndexOf("@");
  if (at < 1 || at > LOCAL_PART_LENGTH_MAX) return null;
  if (!LOCAL_PART.test(address.slice(0, at)) || !isDomain(address.slice(at + 1))) return null;
  return { kind: "email", address };
}

/** Size of the cache: the library takes 10 µs per number, and most messages go to a known number. */
const JUDGED_MAX = 10_000;
const isPossible = memoized(
  JUDGED_MAX,
  (number: string): boolean => parsePhoneNumberFromString(number)?.isPossible() ?? false,
);

/** Ten digits after +1, the first of which is no national prefix: always possible, so the library is not called. */
const NORTH_AMERICAN = /^\+1[2-9]\d{9}$/;

/**
 * Whether this phone number is possible: its country code exists, and it has a valid length there (`isPossible` of
 * libphonenumber). It may still be unassigned. `number` in E.164.
 */
function isPossiblePhone(number: string): boolean {
  return NORTH_AMERICAN.test(number) || isPossible(number);
}

/** More than the 11 characters of a name on the air (GSM 03.40, 9.1.2.5): SMPP has room for 20 octets. */
const NAME_LENGTH_MAX = 20;

/** Whether an address is the name that a company writes under instead of a number, such as `MyBank`. No phone can answer it. */
export function isSenderName(text: string): boolean {
  return text.length <= NAME_LENGTH_MAX && /\p{L}/u.test(text) && !/[:@]/.test(text);
}

/** Why nothing can be sent to a name; the end of an error message. */
export const NAMES_CANNOT_BE_ANSWERED = "alphanumeric senders can write and cannot be answered";

/** The result of `checkRecipient`: a normalized address, or why nothing can be sent to it. */
export type CheckedRecipient = { address: string; problem: null } | { address: null; problem: string };

/**
 * Checks an address to which something new is sent. `parseAddress` is for lookups, so that stored addresses keep working.
 * `problem` is the end of an error message.
 */
export function checkRecipient(text: string): CheckedRecipient {
  const parsed = parseAddress(text);
  if (parsed === null) {
    const expected = "a phone number in E.164 form, such as +15005550100, or an e-mail address";
    const why = isSenderName(text) ? `: ${NAMES_CANNOT_BE_ANSWERED}` : "";
    return { address: null, problem: `must be ${expected}${why}` };
  }
  const { kind, address } = parsed;
  if (kind === "email" || isPossiblePhone(address)) return { address, problem: null };
  const problem = "is not a possible phone number: no country has this country code with this many digits after it";
  return { address: null, problem };
}

/** The form for logs: the last four characters, or none if they would be most of a short address. */
export function maskAddress(address: string): string {
  return address.length < 8 ? "…" : `…${address.slice(-4)}`;
}
