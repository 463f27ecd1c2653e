/** Reads receipts from a deliver_sm or data_sm: optional parameters first, then the text. Pure. */

import { lastDigits } from "./address.ts";
import { type MessageIdBase, receiptId } from "./message-id.ts";
import {
  MESSAGE_STATE,
  NETWORK_ERROR_CODE,
  RECEIPTED_MESSAGE_ID,
  USER_MESSAGE_REFERENCE,
} from "./optional-parameters.ts";
import type { DataSm, DeliverSm } from "./pdu.ts";
import { readUserData } from "./user-data.ts";

/** A receipt for a message, or for one of its parts. */
export interface SmppReceipt {
  /** Ids that the submit_sm_resp may have had, the likeliest first; empty if the receipt has none. */
  ids: readonly string[];
  /** The user_message_reference of the submit_sm, if the SMSC returns it; otherwise null. */
  userReference: number | null;
  /**
   * `underway`: the carrier has the message, and its state is not final. `unclear`: the carrier says that it does not
   * know, or fills the field with nothing, which proves nothing.
   */
  state: "delivered" | "failed" | "underway" | "unclear";
  /** The state in the words of SMPP 3.4 (5.2.28), or of the SMSC. */
  word: string;
  /** The carrier's error code as written; null if there is none. */
  code: string | null;
  /** The last digits of both numbers, in either order. An address that is no phone number is left out. */
  ends: readonly string[];
}

export interface ReceiptSettings {
  messageIdBase: MessageIdBase;
  /** Whether a text that looks like a receipt is one even if no field says so. */
  unflaggedReceipts: boolean;
}

/** Message types in esm_class (5.2.12): delivery receipt, delivery acknowledgement, intermediate notification. */
const TYPE_MASK = 0x3c;
const RECEIPT_TYPES: ReadonlySet<number> = new Set([0x04, 0x08, 0x20]);

/** message_state (5.2.28; 0 and 9 are from SMPP 5.0). */
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

/** States by their first letters, because texts abbreviate them (Appendix B). All others are unclear. */
const STATES: readonly (readonly [string, SmppReceipt["state"]])[] = [
  ["DELIV", "delivered"],
  ["EXPIR", "failed"],
  ["DELET", "failed"],
  ["UNDEL", "failed"],
  ["REJEC", "failed"],
  ["SKIPP", "failed"],
  ["FAILE", "failed"],
  ["ENROU", "underway"],
  ["ACCEP", "underway"],
  ["ACKED", "underway"],
  ["BUFF", "underway"],
];

/** The words of the complete text of Appendix B, which no person would write by accident. */
const APPENDIX_B = [
  ...[/^id:\S+$/i, /^sub:\d+$/i, /^dlvrd:\d+$/i, /^submit$/i, /^date:\d{10,12}$/i, /^done$/i, /^date:\d{10,12}$/i],
  ...[/^stat:[A-Z]{5,8}$/i, /^err:\w/i],
];

/** Some carriers separate the fields by commas, and write values in quotes. */
const QUOTES = /["']/g;
const SEPARATORS = /[,;] ?/g;

function isAppendixB(text: string): boolean {
  const words = text.replaceAll(QUOTES, "").replaceAll(SEPARATORS, " ").split(" ", APPENDIX_B.length);
  return APPENDIX_B.every((pattern, index) => pattern.test(words[index] ?? ""));
}

/**
 * Reads a receipt. Null: the PDU is an ordinary message. `unreadable`: it is marked as a receipt, but names neither a
 * message nor a state.
 */
export function readReceipt(pdu: DeliverSm | DataSm, settings: ReceiptSettings): SmppReceipt | "unreadable" | null {
  const hasParameters = pdu.tlvs.has(RECEIPTED_MESSAGE_ID) && pdu.tlvs.has(MESSAGE_STATE);
  const isMarked = hasParameters || RECEIPT_TYPES.has(pdu.esmClass & TYPE_MASK);
  if (!isMarked && !settings.unflaggedReceipts) return null;
  const fields = fieldsOf(textOf(readUserData(pdu).octets));
  if (!isMarked && !fields.isWhole) return null;
  return receiptOf(pdu, fields, settings) ?? "unreadable";
}

/**
 * Reads a message that nothing marks as a receipt as if it were one. Null if it names no id or no state. Anybody can
 * write such a text, so it is a receipt only if its id is that of a message between the same two numbers.
 */
export function readUnmarked(pdu: DeliverSm | DataSm, settings: ReceiptSettings): SmppReceipt | null {
  const receipt = receiptOf(pdu, fieldsOf(textOf(readUserData(pdu).octets)), settings);
  return receipt === null || receipt.ids.length === 0 ? null : receipt;
}

function receiptOf(pdu: DeliverSm | DataSm, fields: ReceiptFields, settings: ReceiptSettings): SmppReceipt | null {
  const userReference = numberIn(pdu.tlvs.get(USER_MESSAGE_REFERENCE), 2);
  const ids = idsOf([stringIn(pdu.tlvs.get(RECEIPTED_MESSAGE_ID)), fields.id], settings.messageIdBase);
  const words = [STATE_WORDS[numberIn(pdu.tlvs.get(MESSAGE_STATE), 1) ?? -1] ?? null, fields.state].filter(
    (one) => one !== null,
  );
  // A carrier that does not know the state in one place may name it in the other.
  const word = words.find((one) => stateOf(one) !== "unclear") ?? words[0];
  if (word === undefined || (ids.length === 0 && userReference === null)) return null;
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
  /** Whether the text has every field of Appendix B. */
  isWhole: boolean;
}

/** Finds each field by its key, in any case and order. Ignores the message text at the end. */
function fieldsOf(text: string): ReceiptFields {
  const [head = ""] = text.split(/\btext["']?[:=]/i);
  const field = (pattern: RegExp) => pattern.exec(head)?.[1] ?? null;
  return {
    id: field(/\bid["']?[:=]\s*["']?([^\s,;"']+)/i),
    state: field(/\bstat(?:us)?["']?[:=]\s*["']?([a-z]+)/i)?.toUpperCase() ?? null,
    error: field(/\berr(?:or)?["']?[:=]\s*["']?(\w+)/i),
    isWhole: isAppendixB(text),
  };
}

/**
 * Decodes the text whatever its data_coding, since carriers write any value there. A leading zero octet means two
 * octets per character.
 */
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
  return STATES.find(([letters]) => word.startsWith(letters))?.[1] ?? "unclear";
}

/** Whether a receipt says how its message ended. */
export function isFinal({ state }: Pick<SmppReceipt, "state">): boolean {
  return state === "delivered" || state === "failed";
}

/** The carrier's own error code; a code of zeros only means none. */
function codeOf(written: string | null, network: Uint8Array | undefined): string | null {
  if (written !== null && !/^0+$/.test(written)) return written;
  // network_error_code (5.3.2.31): the network type, then two octets.
  const code = network?.length === 3 ? Buffer.from(network).readUInt16BE(1) : 0;
  return code === 0 ? null : String(code);
}

/** Reads an unsigned integer of exactly `octets`; null for any other length. */
function numberIn(value: Uint8Array | undefined, octets: number): number | null {
  return value?.length === octets ? Buffer.from(value).readUIntBE(0, octets) : null;
}

function stringIn(value: Uint8Array | undefined): string | null {
  return value === undefined ? null : Buffer.from(value).toString("latin1");
}
