/**
 * Reads the user data of a deliver_sm: the octets without their header, their national tables, and the part's position in a
 * longer message. Pure.
 */

import type { NationalShifts } from "../../core/gsm-national.ts";
import { MESSAGE_PAYLOAD, SAR_MSG_REF_NUM, SAR_SEGMENT_SEQNUM, SAR_TOTAL_SEGMENTS } from "./optional-parameters.ts";
import type { DataSm, DeliverSm } from "./pdu.ts";
import { unitOctetsOf } from "./text.ts";

/** One part of a longer message. */
export interface Piece {
  /**
   * The reference that the parts share. `how` says where it was, since references of different kinds are independent.
   */
  reference: number;
  how: "udh8" | "udh16" | "sar";
  total: number;
  /** From 1. */
  index: number;
}

export interface UserData {
  octets: Uint8Array;
  /** The national tables of its septets; null for the default alphabet. */
  shifts: NationalShifts | null;
  /** Null for a message of one part. */
  piece: Piece | null;
}

/** esm_class (5.2.12): the message begins with a user data header. */
const UDHI = 0x40;

/** Header elements for concatenation, with a reference of 8 and of 16 bits (GSM 03.40, 9.2.3.24.1 and .8). */
const CONCATENATED_8 = 0x00;
const CONCATENATED_16 = 0x08;
/** Header elements for national tables, with the number of the language (3GPP TS 23.040, 9.2.3.24.15 and .16). */
const SINGLE_SHIFT = 0x24;
const LOCKING_SHIFT = 0x25;

/** Returns the octets without their header, from message_payload if short_message is empty. */
export function readUserData(pdu: DeliverSm | DataSm): UserData {
  const payload = pdu.tlvs.get(MESSAGE_PAYLOAD) ?? new Uint8Array();
  const octets = pdu.command === "deliver_sm" && pdu.shortMessage.length > 0 ? pdu.shortMessage : payload;
  const sar = sarOf(pdu);
  const headerEnd = headerEndOf(pdu.esmClass, octets);
  // A header longer than the message is not one.
  if (headerEnd === 0 || octets.length < headerEnd) return { octets, shifts: null, piece: sar };
  const elements = elementsOf(octets.subarray(1, headerEnd));
  return { octets: octets.subarray(headerEnd), shifts: shiftsIn(elements), piece: pieceIn(elements) ?? sar };
}

/** Where the text begins: the first octet of a header is its length. */
function headerEndOf(esmClass: number, octets: Uint8Array): number {
  return (esmClass & UDHI) === 0 ? 0 : (octets[0] ?? 0) + 1;
}

/**
 * Whether the octets that a carrier counts at the end of a text and does not send are a NUL, or the second half of one in UCS-2. Without
 * any octet of text, or with half a character at the end, more is missing than that.
 */
export function lacksNul(
  { esmClass, dataCoding, octets }: Pick<DeliverSm, "esmClass" | "dataCoding"> & { octets: Uint8Array },
  lacks: number,
): boolean {
  const text = octets.subarray(headerEndOf(esmClass, octets));
  if (text.length === 0) return false;
  switch (unitOctetsOf(dataCoding)) {
    case 1:
      return lacks === 1;
    case 2:
      return text.length % 2 === 0 ? lacks <= 2 : lacks === 1 && text.at(-1) === 0;
    default:
      return false;
  }
}

/** One element of a user data header. */
interface HeaderElement {
  id: number;
  value: Uint8Array;
}

function elementsOf(header: Uint8Array): HeaderElement[] {
  const elements: HeaderElement[] = [];
  for (let at = 0; at + 1 < header.length; ) {
    const end = at + 2 + (header[at + 1] ?? 0);
    elements.push({ id: header[at] ?? 0, value: header.subarray(at + 2, end) });
    at = end;
  }
  return elements;
}

function pieceIn(elements: readonly HeaderElement[]): Piece | null {
  for (const { id, value } of elements) {
    const [a = 0, b = 0, c = 0, d = 0] = value;
    if (id === CONCATENATED_8 && value.length === 3) return checked({ how: "udh8", reference: a, total: b, index: c });
    if (id === CONCATENATED_16 && value.length === 4) {
      return checked({ how: "udh16", reference: a * 256 + b, total: c, index: d });
    }
  }
  return null;
}

function shiftsIn(elements: readonly HeaderElement[]): NationalShifts | null {
  const language = (wanted: number) =>
    elements.findLast(({ id, value }) => id === wanted && value.length === 1)?.value[0] ?? null;
  const shifts = { locking: language(LOCKING_SHIFT), single: language(SINGLE_SHIFT) };
  return shifts.locking === null && shifts.single === null ? null : shifts;
}

function sarOf({ tlvs }: DeliverSm | DataSm): Piece | null {
  const [high, low] = tlvs.get(SAR_MSG_REF_NUM) ?? [];
  const [total] = tlvs.get(SAR_TOTAL_SEGMENTS) ?? [];
  const [index] = tlvs.get(SAR_SEGMENT_SEQNUM) ?? [];
  if (high === undefined || low === undefined || total === undefined || index === undefined) return null;
  return checked({ how: "sar", reference: high * 256 + low, total, index });
}

/** A position that is impossible, or the only part of one, means a whole message (GSM 03.40, 9.2.3.24.1). */
function checked(piece: Piece): Piece | null {
  return piece.total > 1 && piece.index >= 1 && piece.index <= piece.total ? piece : null;
}
