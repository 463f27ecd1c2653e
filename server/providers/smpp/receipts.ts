/** Reads the receipts that an SMSC sends as deliver_sm: from optional parameters first, then from the text. Pure. */

import { lastDigits } from "./address.ts";
import { type MessageIdBase, receiptId } from "./message-id.ts";
import type { DataSm, DeliverSm } from "./pdu.ts";
import { readUserData } from "./user-data.ts";

/** What a receipt says of a message, or of one part of one. */
export interface SmppReceipt {
  /** What it may be called in the response, likeliest first; none where it does not say. */
  ids: readonly string[];
  /** The user_message_reference of the submit_sm, where the SMSC gives it back; else null. */
  userReference: number | null;
  /** `underway`: no word about its end yet, or ever. */
  state: "delivered" | "failed" | "underway";
  /** The state as SMPP 3.4 calls it (5.2.28), or as the SMSC wrote it. */
  word: string;
  /** The carrier's error code, as it wrote it; null where it gave none. */
  code: string | null;
  /** The last digits of the numbers that it is between, whichever way round; of what is no number nothing. */
  ends: readonly string[];
}

export interface ReceiptSettings {
  messageIdBase: MessageIdBase;
  /** Whether a text that looks like a receipt is one, although nothing else says so. */
  unflaggedReceipts: boolean;
}

/** Optional parameters (SMPP 3.4, 5.3.2). */
const RECEIPTED_MESSAGE_ID = 0x001e;
const USER_MESSAGE_REFERENCE = 0x0204;
const NETWORK_ERROR_CODE = 0x0423;
const MESSAGE_STATE = 0x0427;

/** Message types in esm_class (5.2.12): delivery receipt, delivery acknowledgement, intermediate notification. */
const TYPE_MASK = 0x3c;
const RECEIPT_TYPES: ReadonlySet<number> = new Set([0x04, 0x08, 0x20]);

/** message_state (5.2.28; 0 and 9 are SMPP 5.0's). */
const STATE_WORDS = [
  "SCHEDULED",
  "ENROUTE",
  "DELIVERED",
  "EXPIRED",
  "DELETED",
  "UNDELIVERABLE",
  "ACCEPTED",
  "UNKNOWN",
  "REJECTED",
  "SKIPPED",
] as const;

/** By the first letters of a state, as texts abridge it (Appendix B); all others say nothing of the end. */
const ENDS: readonly (readonly [string, SmppReceipt["state"]])[] = [
  ["DELIV", "delivered"],
  ["EXPIR", "failed"],
  ["DELET", "failed"],
  ["UNDEL", "failed"],
  ["REJEC", "failed"],
  ["SKIPP", "failed"],
  ["FAILE", "failed"],
];

/** The whole of the text in Appendix B, as no person would write it by accident. */
const APPENDIX_B = /^id:\S+ sub:\d+ dlvrd:\d+ submit date:\d{10,12} done date:\d{10,12} stat:[A-Z]{5,8} err:\w+/i;

/**
 * The receipt that a deliver_sm or data_sm is. Null: it is none, but a message. `unreadable`: it says that it is one, and
 * names neither a message nor a state.
 */
export function readReceipt(pdu: DeliverSm | DataSm, settings: ReceiptSettings): SmppReceipt | "unreadable" | null {
  const hasParameters = pdu.tlvs.has(RECEIPTED_MESSAGE_ID) && pdu.tlvs.has(MESSAGE_STATE);
  const isMarked = hasParameters || RECEIPT_TYPES.has(pdu.esmClass & TYPE_MASK);
  if (!isMarked && !settings.unflaggedReceipts) return null;
  const fields = fieldsOf(textOf(readUserData(pdu).octets));
  if (!isMarked && !fields.isWhole) return null;
  const userReference = numberIn(pdu.tlvs.get(USER_MESSAGE_REFERENCE), 2);
  const ids = idsOf([stringIn(pdu.tlvs.get(RECEIPTED_MESSAGE_ID)), fields.id], settings.messageIdBase);
  const word = STATE_WORDS[numberIn(pdu.tlvs.get(MESSAGE_STATE), 1) ?? -1] ?? fields.state;
  if (word === null || (ids.length === 0 && userReference === null)) return "unreadable";
  return {
    ids,
    userReference,
    state: stateOf(word),
    word,
    code: codeOf(fields.error, pdu.tlvs.get(NETWORK_ERROR_CODE)),
    ends: [pdu.source, pdu.destination].map(({ address }) => lastDigits(address)).filter((digits) => digits !== ""),
  };
}

interface ReceiptFields {
  id: string | null;
  state: string | null;
  error: string | null;
  /** Whether the text is all that Appendix B shows. */
  isWhole: boolean;
}

/** Each by its key, in any case and any order, but not out of the text of the message itself, which comes last. */
function fieldsOf(text: string): ReceiptFields {
  const [head = ""] = text.split(/\btext:/i);
  const field = (pattern: RegExp) => pattern.exec(head)?.[1] ?? null;
  return {
    id: field(/\bid:\s*(\S+)/i),
    state: field(/\bstat(?:us)?:\s*([a-z]+)/i)?.toUpperCase() ?? null,
    error: field(/\berr(?:or)?:\s*(\w+)/i),
    isWhole: APPENDIX_B.test(text),
  };
}

/** What it says, whatever its data_coding: carriers write any there. Two octets a character where the first one is 0. */
function textOf(octets: Uint8Array): string {
  if (octets[0] !== 0) return Buffer.from(octets).toString("latin1");
  return Buffer.from(octets.subarray(0, octets.length & ~1))
    .swap16()
    .toString("utf16le");
}

function idsOf(written: readonly (string | null)[], base: MessageIdBase): string[] {
  const ids = written.map((id) => (id === null ? null : receiptId(id, base)));
  return [...new Set(ids.filter((id) => id !== null))];
}

function stateOf(word: string): SmppReceipt["state"] {
  return ENDS.find(([letters]) => word.startsWith(letters))?.[1] ?? "underway";
}

/** The carrier's own code where it gave one; of nothing but zeros it is none. */
function codeOf(written: string | null, network: Uint8Array | undefined): string | null {
  if (written !== null && !/^0+$/.test(written)) return written;
  // network_error_code (5.3.2.31): the kind of network, then two octets.
  const code = network?.length === 3 ? Buffer.from(network).readUInt16BE(1) : 0;
  return code === 0 ? null : String(code);
}

/** A whole number of exactly `octets`; null for anything else. */
function numberIn(value: Uint8Array | undefined, octets: number): number | null {
  return value?.length === octets ? Buffer.from(value).readUIntBE(0, octets) : null;
}

function stringIn(value: Uint8Array | undefined): string | null {
  return value === undefined ? null : Buffer.from(value).toString("latin1");
}
