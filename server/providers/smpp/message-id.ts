/** Normalises message ids, so that those of responses and of receipts can be compared. Pure. */

import { createHash } from "node:crypto";

/** The number base of ids in receipts, compared with responses: many SMSCs use different ones. */
export type MessageIdBase = "same" | "hexThenDecimal" | "decimalThenHex";

/** Prefixes of our own references for sent and for inbound messages. No carrier's id begins with one. */
export const OWN_PREFIX = "tb:";
export const INBOUND_PREFIX = "in:";

/** The id that OsmoMSC 1.9 gives to every message. */
const NO_ID = "msg_id_not_implemented";

const HEX = /^[0-9a-f]+$/i;
const DECIMAL = /^\d+$/;
const SIGNED = /^-\d{1,19}$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The id of a submit_sm_resp. Null if it identifies nothing: it is empty, common to all messages, or looks like our
 * own.
 */
export function responseId(id: string, base: MessageIdBase): string | null {
  return idOf(id, base === "hexThenDecimal");
}

/** The id of a receipt, in the form of `responseId`. Null if it identifies nothing. */
export function receiptId(id: string, base: MessageIdBase): string | null {
  return idOf(id, base === "decimalThenHex");
}

/** A new id from the time, a counter of this process and the content, so that ids of two processes differ. */
export function newInboundId(at: number, count: number, of: string): string {
  const digest = createHash("sha256").update(of).digest("hex").slice(0, 16);
  return `${at.toString(36)}-${count.toString(36)}-${digest}`;
}

/** The lengths of integers in which carriers keep ids, in bits. */
const INTEGER_BITS = [32, 64] as const;

/**
 * Removes leading zeros from numbers, writes a negative one as the unsigned integer with the same bits,
 * writes hexadecimal in lower case, and with `isHex` converts it to decimal.
 */
function idOf(written: string, isHex: boolean): string | null {
  const id = written.replaceAll("\0", "").trim();
  if (id === "" || id === NO_ID || id.startsWith(OWN_PREFIX) || id.startsWith(INBOUND_PREFIX)) return null;
  if (SIGNED.test(id)) return unsigned(BigInt(id))?.toString() ?? id;
  if (isHex && HEX.test(id)) return BigInt(`0x${id}`).toString();
  if (DECIMAL.test(id) || HEX.test(id)) return id.toLowerCase().replace(/^0+/, "") || "0";
  return UUID.test(id) ? id.toLowerCase() : id;
}

/** Some carriers print an id as a signed integer in receipts and as an unsigned one in responses. Null if it is too long. */
function unsigned(id: bigint): bigint | null {
  const bits = INTEGER_BITS.find((length) => BigInt.asIntN(length, id) === id);
  return bits === undefined ? null : BigInt.asUintN(bits, id);
}
