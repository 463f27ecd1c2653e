/** Converts addresses between SMPP and E.164. Pure. */

import type { SmppAddress } from "./pdu.ts";

/** Type of number (SMPP 3.4, 5.2.5) and numbering plan (5.2.6). */
const TON = { international: 1, national: 2, network: 3, subscriber: 4, alphanumeric: 5 } as const;
const NPI = { unknown: 0, isdn: 1 } as const;

/** The carrier's own values for an address; null: the default. */
export interface AddressMarking {
  ton: number | null;
  npi: number | null;
}

/** Up to this many digits without a plus are a short code. */
const SHORT_CODE_DIGITS_MAX = 8;
/** Digits of the longest national number, if nothing marks it as national. */
const NATIONAL_DIGITS_MAX = 10;
/** Digits of the shortest subscriber number with its area code. */
const COMMON_DIGITS = 7;

/**
 * Writes an address for SMPP: E.164 without its plus as international ISDN, short codes as network specific, names as
 * alphanumeric. The last two have no numbering plan.
 */
export function outgoingAddress(text: string, { ton, npi }: AddressMarking): SmppAddress {
  const known = /^\+\d+$/.test(text)
    ? { ton: TON.international, npi: NPI.isdn, address: text.slice(1) }
    : { ton: /^\d+$/.test(text) ? TON.network : TON.alphanumeric, npi: NPI.unknown, address: text };
  return { ton: ton ?? known.ton, npi: npi ?? known.npi, address: known.address };
}

/**
 * Reads an address from an SMSC as E.164; a short code or a name stays as it is. `countryCode` is added to national
 * numbers; null if none arrive.
 */
export function incomingAddress({ ton, address }: SmppAddress, countryCode: string | null): string {
  const text = address.trim();
  if (ton === TON.alphanumeric || !/^\+?[\d\s().-]+$/.test(text)) return text;
  const digits = text.replaceAll(/\D/g, "");
  if (text.startsWith("+")) return `+${digits}`;
  if (digits.startsWith("00")) return `+${digits.slice(2)}`;
  if (ton === TON.international) return `+${digits}`;
  if (countryCode !== null && isNational(ton, digits, countryCode)) return `+${countryCode}${digits.replace(/^0/, "")}`;
  return digits.startsWith("0") || digits.length <= SHORT_CODE_DIGITS_MAX ? digits : `+${digits}`;
}

function isNational(ton: number, digits: string, countryCode: string): boolean {
  if (digits.length <= SHORT_CODE_DIGITS_MAX) return false;
  if (digits.startsWith("0")) return true;
  if (ton === TON.national || ton === TON.subscriber) return true;
  return !digits.startsWith(countryCode) && digits.length <= NATIONAL_DIGITS_MAX;
}

/**
 * Finds our own address that `address` means: the one with the same digits, or the only one that ends with them, since
 * some SMSCs omit the country code. Null if there is none.
 */
export function ownAddress(address: string, own: readonly string[]): string | null {
  const digits = address.replaceAll(/\D/g, "").replace(/^0+/, "");
  const exact = own.find((one) => one === address || one === `+${digits}`);
  if (exact !== undefined || digits.length < SHORT_CODE_DIGITS_MAX) return exact ?? null;
  const ending = own.filter((one) => one.endsWith(digits));
  return ending.length === 1 ? (ending[0] ?? null) : null;
}

/** The last digits of a message's two numbers: see `lastDigits`. */
export interface EndDigits {
  from: string;
  to: string;
}

/** The digits that all ways of writing a phone number share; empty for anything else. */
export function lastDigits(address: string): string {
  return /^\+?\d+$/.test(address) && address.length > COMMON_DIGITS ? address.slice(-COMMON_DIGITS) : "";
}

/** Whether a receipt with these numbers may belong to a message between `ends`. Some carriers omit the recipient. */
export function canBeBetween(numbers: readonly string[], { from, to }: EndDigits): boolean {
  return to === "" || numbers.includes(to) || numbers.every((number) => number === from);
}
