/**
 * Reads the user data of a deliver_sm: the octets without their header, and the part's position in a longer message.
 * Pure.
 */

import type { DataSm, DeliverSm } from "./pdu.ts";

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
  /** Null for a message of one part. */
  piece: Piece | null;
}

/** Optional parameters (SMPP 3.4, 5.3.2). */
const SAR_MSG_REF_NUM = 0x020c;
const SAR_TOTAL_SEGMENTS = 0x020e;
const SAR_SEGMENT_SEQNUM = 0x020f;
export const MESSAGE_PAYLOAD = 0x0424;

/** esm_class (5.2.12): the message begins with a user data header. */
const UDHI = 0x40;

/** Header elements for concatenation, with a reference of 8 and of 16 bits (GSM 03.40, 9.2.3.24.1 and .8). */
const CONCATENATED_8 = 0x00;
const CONCATENATED_16 = 0x08;

/** Returns the octets without their header, from message_payload if short_message is empty. */
export function readUserData(pdu: DeliverSm | DataSm): UserData {
  const payload = pdu.tlvs.get(MESSAGE_PAYLOAD) ?? new Uint8Array();
  const octets = pdu.command === "deliver_sm" && pdu.shortMessage.length > 0 ? pdu.shortMessage : payload;
  const sar = sarOf(pdu);
  // The first octet is the length of the header. A header longer than the message is not one.
  const headerEnd = (octets[0] ?? 0) + 1;
  if ((pdu.esmClass & UDHI) === 0 || octets.length < headerEnd) return { octets, piece: sar };
  return { octets: octets.subarray(headerEnd), piece: pieceIn(octets.subarray(1, headerEnd)) ?? sar };
}

function pieceIn(header: Uint8Array): Piece | null {
  for (let at = 0; at + 1 < header.length; ) {
    const length = header[at + 1] ?? 0;
    const value = header.subarray(at + 2, at + 2 + length);
    const [a = 0, b = 0, c = 0, d = 0] = value;
    if (header[at] === CONCATENATED_8 && value.length === 3)
      return checked({ how: "udh8", reference: a, total: b, index: c });
    if (header[at] === CONCATENATED_16 && value.length === 4) {
      return checked({ how: "udh16", reference: a * 256 + b, total: c, index: d });
    }
    at += 2 + length;
  }
  return null;
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
