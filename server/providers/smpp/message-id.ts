/** Ids that an SMSC gives to messages, in the form in which that of a response and that of a receipt are equal. Pure. */

import { createHash } from "node:crypto";

/** How the id in a receipt is written, compared with the one in the response: in many places it is another base. */
export type MessageIdBase = "same" | "hexThenDecimal" | "decimalThenHex";

/** Begins our own names of messages, and those of messages that came in: an id of a carrier's never does. */
export const OWN_PREFIX = "tb:";
export const INBOUND_PREFIX = "in:";

/** What OsmoMSC 1.9 answers to every message that it stores. */
const NO_ID = "msg_id_not_implemented";

const HEX = /^[0-9a-f]+$/i;
const DECIMAL = /^\d+$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The id of a submit_sm_resp; null where it tells nothing: it is empty, everybody's, or like our own names. */
export function responseId(id: string, base: MessageIdBase): string | null {
  return idOf(id, base === "hexThenDecimal");
}

/** The id of a receipt, in the form that `responseId` gave it; null where it tells nothing. */
export function receiptId(id: string, base: MessageIdBase): string | null {
  return idOf(id, base === "decimalThenHex");
}

/**
 * A name for something new of this instance: of when it was made, its place among those that this process made, and what
 * it is of, so that those of two processes differ too.
 */
export function newInboundId(at: number, count: number, of: string): string {
  const digest = createHash("sha256").update(of).digest("hex").slice(0, 16);
  return `${at.toString(36)}-${count.toString(36)}-${digest}`;
}

/** Numbers lose their leading zeros, and with `isHex` become decimal; what is written in hexadecimal has small letters. */
function idOf(written: string, isHex: boolean): string | null {
  const id = written.replaceAll("\0", "").trim();
  if (id === "" || id === NO_ID || id.startsWith(OWN_PREFIX) || id.startsWith(INBOUND_PREFIX)) return null;
  if (isHex && HEX.test(id)) return BigInt(`0x${id}`).toString();
  if (DECIMAL.test(id) || HEX.test(id)) return id.toLowerCase().replace(/^0+(?=.)/, "");
  return UUID.test(id) ? id.toLowerCase() : id;
}
