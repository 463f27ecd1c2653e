/** The formats of strings that the validator checks, and the size of metadata. Pure. */

import { parseInstant } from "../../core/instant.ts";
import { AMOUNT_EXPECTED, parseAmount } from "../../core/payment.ts";
import { parseAddress } from "../../core/phone.ts";
import { isClockTime } from "../../core/quiet-hours.ts";
import { parseReaction, REACTION_EXPECTED } from "../../core/reaction.ts";
import { isPrefix } from "../../core/routing.ts";
import { isTimeZone } from "../../core/time-zone.ts";

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
  // Which chat it names, if any, is found later.
  chatName: { validate: () => true, expected: "must be the id of a chat, a phone number or an e-mail address" },
  email: { validate: (value) => parseAddress(value)?.kind === "email", expected: "must be an e-mail address" },
  amount: { validate: (value) => parseAmount(value) !== null, expected: AMOUNT_EXPECTED },
  reaction: { validate: (value) => parseReaction(value) !== null, expected: REACTION_EXPECTED },
  instant: {
    validate: (value) => parseInstant(value) !== null,
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

/** Whether `value` takes at most `max` bytes as compact JSON in UTF-8. Reads no more of it than necessary. */
export function jsonBytesWithin(value: unknown, max: number): boolean {
  let least = 0;
  const left: unknown[] = [value];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    // A character takes at least one byte, and so does every separator.
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
