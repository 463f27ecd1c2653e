/** Addresses as SMPP writes them, and E.164: which is which, and how one becomes the other. Pure. */

import type { SmppAddress } from "./pdu.ts";

/** Type of number (SMPP 3.4, 5.2.5) and numbering plan (5.2.6). */
const TON = { international: 1, national: 2, network: 3, subscriber: 4, alphanumeric: 5 } as const;
const NPI = { unknown: 0, isdn: 1 } as const;

/** How addresses of one end are to be marked, where a carrier wants it otherwise. */
export interface AddressMarking {
  ton: number | null;
  npi: number | null;
}

/** Up to this many digits without a plus are a short code. */
const SHORT_CODE_DIGITS_MAX = 8;
/** Digits of the longest number that is national where nothing says what it is. */
const NATIONAL_DIGITS_MAX = 10;
/** Digits of the shortest subscriber's number with its area. */
const COMMON_DIGITS = 7;

/**
 * An address as it goes out: E.164 without its plus as international and ISDN; short codes as network specific, words as
 * alphanumeric, both of no plan.
 */
export function outgoingAddress(text: string, { ton, npi }: AddressMarking): SmppAddress {
  const known = /^\+\d+$/.test(text)
    ? { ton: TON.international, npi: NPI.isdn, address: text.slice(1) }
    : { ton: /^\d+$/.test(text) ? TON.network : TON.alphanumeric, npi: NPI.unknown, address: text };
  return { ton: ton ?? known.ton, npi: npi ?? known.npi, address: known.address };
}

/**
 * The E.164 number that an address from an SMSC is; what can be none (a short code, a word) as it is. `countryCode` is
 * that of national numbers; null where there are none.
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
 * Which of our own addresses `address` is: the one with these digits, or the only one that ends with them, as an SMSC
 * writes a number without its country. Null where there is none such.
 */
export function ownAddress(address: string, own: readonly string[]): string | null {
  const digits = address.replaceAll(/\D/g, "").replace(/^0+/, "");
  const exact = own.find((one) => one === address || one === `+${digits}`);
  if (exact !== undefined || digits.length < SHORT_CODE_DIGITS_MAX) return exact ?? null;
  const ending = own.filter((one) => one.endsWith(digits));
  return ending.length === 1 ? (ending[0] ?? null) : null;
}

/** The last digits of the two numbers that a message is between, as `lastDigits` says. */
export interface EndDigits {
  from: string;
  to: string;
}

/** The digits that every way to write a phone number has in common; empty for what is none. */
export function lastDigits(address: string): string {
  return /^\+?\d+$/.test(address) && address.length > COMMON_DIGITS ? address.slice(-COMMON_DIGITS) : "";
}

/** Whether a receipt between these numbers can be one of a message between `ends`. Some carriers leave out the recipient. */
export function canBeBetween(numbers: readonly string[], { from, to }: EndDigits): boolean {
  return to === "" || numbers.includes(to) || numbers.every((number) => number === from);
}
