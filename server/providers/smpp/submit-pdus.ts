/** Builds the submit_sm PDUs of a message, one for each part, in order. Pure. */

import type { Encoding } from "../../../sdk/wire.ts";
import { type SegmentOptions, segmentText } from "../../core/segment.ts";
import type { Outbound } from "../provider.ts";
import { outgoingAddress } from "./address.ts";
import {
  MESSAGE_PAYLOAD,
  SAR_MSG_REF_NUM,
  SAR_SEGMENT_SEQNUM,
  SAR_TOTAL_SEGMENTS,
  USER_MESSAGE_REFERENCE,
} from "./optional-parameters.ts";
import type { SubmitSm, Tlvs } from "./pdu.ts";
import type { SmppSettings } from "./settings.ts";

/** A submit_sm without its sequence number. */
export type SubmitPdu = Omit<SubmitSm, "sequence">;

/** The PDUs of a message. */
export interface Submission {
  encoding: Encoding;
  /** Short messages that arrive on the phone. Equal to the number of PDUs, unless the carrier splits the text. */
  segments: number;
  submits: readonly SubmitPdu[];
}

/** Why SMS cannot carry a message. */
export interface NotSubmittable {
  code: string;
  reason: string;
  /** The recipient cannot be on the channel. */
  notReachable?: boolean;
}

/** data_coding (SMPP 3.4, 5.2.19). 0 is the SMSC's default alphabet, which `defaultAlphabet` names. */
const DATA_CODINGS = { "GSM-7": 0, "Latin-1": 3, "UCS-2": 8 } as const satisfies Record<Encoding, number>;
/** esm_class (5.2.12): the SMSC's default mode, without and with a user data header. */
const PLAIN = 0x00;
const UDHI = 0x40;
/** registered_delivery (5.2.17): requests a receipt for every final state. */
const RECEIPT = 1;
/** The header has one octet for the number of parts. */
const PARTS_MAX = 255;

/** Octets of the concatenation header (GSM 03.40, 9.2.3.24), by the bits of its reference. */
const HEADER_OCTETS = { 8: 6, 16: 7 } as const;

/**
 * Builds the PDUs of `message`. `reference` is the concatenation reference of its parts: 16 bits, of which a shorter
 * header uses the lower 8. A message with files is refused, so that no file is dropped silently.
 */
export function submissionOf(
  message: Pick<Outbound, "from" | "to" | "text" | "attachments" | "group">,
  settings: SmppSettings,
  reference: number,
): Submission | NotSubmittable {
  if (message.group !== null) return { code: "GROUP_NOT_SUPPORTED", reason: "SMPP carries messages to one recipient." };
  if (!message.to.startsWith("+")) {
    return { code: "NOT_A_PHONE_NUMBER", reason: "SMPP carries messages to phone numbers.", notReachable: true };
  }
  if (message.attachments.length > 0)
    return { code: "MEDIA_NOT_SUPPORTED", reason: "SMPP carries text, and no files." };
  const isWhole = settings.longMessages === "payload";
  const { encoding, segments } = segmentText(message.text, { ...segmentOptions(settings), single: isWhole });
  if (segments.length > PARTS_MAX) return { code: "TEXT_TOO_LONG", reason: `SMS takes at most ${PARTS_MAX} parts.` };
  const count = isWhole ? countSegments(message.text, settings).segments : segments.length;
  const base = baseOf(message, settings, DATA_CODINGS[encoding]);
  const submits = segments.map(({ octets }, at): SubmitPdu => {
    const place = { reference, total: segments.length, index: at + 1 };
    return { ...base, ...bodyOf(octets, count > 1, place, settings) };
  });
  return { encoding, segments: count, submits };
}

/** Counts the short messages of a text. Where the carrier splits it, they are counted as most carriers will split it. */
export function countSegments(text: string, settings: SmppSettings): Pick<Submission, "encoding" | "segments"> {
  const { encoding, segments } = segmentText(text, segmentOptions(settings));
  return { encoding, segments: segments.length };
}

function segmentOptions({ longMessages, udhReferenceBits, latin1, defaultAlphabet }: SmppSettings): SegmentOptions {
  // The SMSC turns sar parameters and a whole text into parts with a header, so the text leaves room for one.
  const headerOctets = HEADER_OCTETS[longMessages === "udh" ? udhReferenceBits : 8];
  return { alphabet: defaultAlphabet, latin1, headerOctets };
}

/** Adds the user_message_reference, by which a receipt may identify the part. */
export function withUserReference(submit: SubmitPdu, userReference: number): SubmitPdu {
  return { ...submit, tlvs: new Map([...submit.tlvs, [USER_MESSAGE_REFERENCE, uint16(userReference)]]) };
}

function baseOf({ from, to }: Pick<Outbound, "from" | "to">, settings: SmppSettings, dataCoding: number): SubmitPdu {
  return {
    command: "submit_sm",
    serviceType: settings.serviceType,
    source: outgoingAddress(settings.sourceAddress ?? from, settings.source),
    destination: outgoingAddress(to, settings.destination),
    esmClass: PLAIN,
    protocolId: 0,
    priority: 0,
    scheduleDeliveryTime: "",
    validityPeriod: settings.validitySeconds === null ? "" : relativeTime(settings.validitySeconds),
    registeredDelivery: RECEIPT,
    replaceIfPresent: 0,
    dataCoding,
    defaultMessageId: 0,
    shortMessage: new Uint8Array(),
    tlvs: new Map(),
  };
}

interface PartPosition {
  reference: number;
  total: number;
  index: number;
}

function bodyOf(octets: Uint8Array, isLong: boolean, place: PartPosition, settings: SmppSettings): Partial<SubmitPdu> {
  if (!isLong) return { shortMessage: octets };
  switch (settings.longMessages) {
    case "payload":
      return { tlvs: new Map([[MESSAGE_PAYLOAD, octets]]) };
    case "sar":
      return { shortMessage: octets, tlvs: sarOf(place) };
    case "udh":
      return { esmClass: UDHI, shortMessage: Buffer.concat([headerOf(place, settings.udhReferenceBits), octets]) };
  }
}

/** GSM 03.40, 9.2.3.24.1 and 9.2.3.24.8. */
function headerOf({ reference, total, index }: PartPosition, bits: 8 | 16): Uint8Array {
  return bits === 8
    ? Uint8Array.of(5, 0x00, 3, reference & 0xff, total, index)
    : Uint8Array.of(6, 0x08, 4, (reference >> 8) & 0xff, reference & 0xff, total, index);
}

function sarOf({ reference, total, index }: PartPosition): Tlvs {
  return new Map([
    [SAR_MSG_REF_NUM, uint16(reference)],
    [SAR_TOTAL_SEGMENTS, Uint8Array.of(total)],
    [SAR_SEGMENT_SEQNUM, Uint8Array.of(index)],
  ]);
}

function uint16(value: number): Uint8Array {
  return Uint8Array.of((value >> 8) & 0xff, value & 0xff);
}

/** A relative time (7.1.1): years and months, days, hours, minutes, seconds, tenths, R. */
function relativeTime(seconds: number): string {
  const parts = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3_600) % 24,
    Math.floor(seconds / 60) % 60,
    seconds % 60,
  ];
  return `0000${parts.map((part) => String(part).padStart(2, "0")).join("")}000R`;
}
