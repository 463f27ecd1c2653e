/** What a Mac tells, read loosely: every field may be missing or null, and what is not used here is not looked at. */

import type { Channel } from "../../../sdk/wire.ts";
import { listOf, numberOf, recordOf, textOf } from "../../core/loose-json.ts";

/** A person or machine at the other end. `service`: `iMessage`, `SMS` or `RCS`. */
export interface MacHandle {
  address: string;
  service: string | null;
}

/** A file of a message. `transferName` is its name as the sender gave it. */
export interface MacAttachment {
  guid: string;
  mimeType: string | null;
  transferName: string | null;
  totalBytes: number | null;
}

/** A conversation. `style` 43 is a group, 45 a thread with one other end. */
export interface MacChat {
  guid: string;
  style: number | null;
  chatIdentifier: string | null;
  displayName: string | null;
  participants: readonly MacHandle[];
  /** The address of ours that was written to or from last. */
  lastAddressedHandle: string | null;
  /** Only of a chat that was just made: what it was made with. */
  messages: readonly MacMessage[];
}

/** A row of the Mac's messages. Times are epoch milliseconds by the Mac's clock. */
export interface MacMessage {
  rowId: number | null;
  guid: string;
  /** `""` where there is none but files. */
  text: string | null;
  subject: string | null;
  /** The other end; null on some of our own. */
  handle: MacHandle | null;
  attachments: readonly MacAttachment[];
  /** Empty where the Mac was not asked for them. */
  chats: readonly MacChat[];
  /** 0: none. 22: the recipient is not on iMessage. 4: timed out. Any other: Apple's own. */
  error: number;
  dateCreated: number | null;
  dateDelivered: number | null;
  dateRead: number | null;
  dateEdited: number | null;
  dateRetracted: number | null;
  isDelivered: boolean;
  isFromMe: boolean;
  /** 0: a message. Any other: something that happened to the conversation. */
  itemType: number;
  groupActionType: number;
  groupTitle: string | null;
  balloonBundleId: string | null;
  /** `p:0/<guid>` or `bp:<guid>`: what a reaction is about. */
  associatedMessageGuid: string | null;
  associatedMessageType: string | null;
  associatedMessageEmoji: string | null;
  expressiveSendStyleId: string | null;
  /** The first message of the thread that this one answers in. */
  threadOriginatorGuid: string | null;
  payloadData: unknown;
  messageSummaryInfo: unknown;
  /** 0 once all of it was taken back. */
  partCount: number | null;
  /** Who else was added or removed, by row of the Mac's handles. */
  otherHandle: number | null;
}

/** What went wrong, as an answer says it. `type` as in `iMessage Error`. */
export interface MacErrorBody {
  type: string | null;
  message: string | null;
}

const STYLE_GROUP = 43;

/** The message in `value`; null for anything without a guid. */
export function parseMessage(value: unknown): MacMessage | null {
  const record = recordOf(value);
  const guid = textOf(record?.guid);
  if (record === null || guid === null) return null;
  return {
    ...contentOf(record),
    ...statesOf(record),
    rowId: numberOf(record.originalROWID),
    guid,
    handle: parseHandle(record.handle),
    attachments: listOf(record.attachments, parseAttachment),
    chats: listOf(record.chats, parseChat),
    itemType: numberOf(record.itemType) ?? 0,
    groupActionType: numberOf(record.groupActionType) ?? 0,
    groupTitle: textOf(record.groupTitle),
    otherHandle: numberOf(record.otherHandle),
    associatedMessageGuid: textOf(record.associatedMessageGuid),
    associatedMessageType: textOf(record.associatedMessageType),
    associatedMessageEmoji: textOf(record.associatedMessageEmoji),
    threadOriginatorGuid: textOf(record.threadOriginatorGuid),
  };
}

/** The chat in `value`; null for anything without a guid. */
export function parseChat(value: unknown): MacChat | null {
  const record = recordOf(value);
  const guid = textOf(record?.guid);
  if (record === null || guid === null) return null;
  return {
    guid,
    style: numberOf(record.style),
    chatIdentifier: textOf(record.chatIdentifier),
    displayName: textOf(record.displayName),
    participants: listOf(record.participants, parseHandle),
    lastAddressedHandle: textOf(record.lastAddressedHandle),
    messages: listOf(record.messages, parseMessage),
  };
}

/** The handle in `value`; null for anything without an address. */
export function parseHandle(value: unknown): MacHandle | null {
  const record = recordOf(value);
  const address = textOf(record?.address);
  return address === null ? null : { address, service: textOf(record?.service) };
}

/** The attachment in `value`; null for anything without a guid. */
export function parseAttachment(value: unknown): MacAttachment | null {
  const record = recordOf(value);
  const guid = textOf(record?.guid);
  if (record === null || guid === null) return null;
  return {
    guid,
    mimeType: textOf(record.mimeType),
    transferName: textOf(record.transferName),
    totalBytes: numberOf(record.totalBytes),
  };
}

/** What an answer carries that is none of an error; one without `data` has null. */
export function dataOf(value: unknown): unknown {
  return recordOf(value)?.data ?? null;
}

/** The error in an answer's body. */
export function parseErrorBody(value: unknown): MacErrorBody {
  const record = recordOf(value);
  const error = recordOf(record?.error);
  return { type: textOf(error?.type), message: textOf(error?.message) ?? textOf(record?.message) };
}

/** The messages of a query's `data`; what is none is left out. */
export function parseMessages(data: unknown): readonly MacMessage[] {
  return listOf(data, parseMessage);
}

/** Whether a chat is a group, by its style, or by its guid where the style is missing. */
export function isGroupChat({ style, guid }: Pick<MacChat, "style" | "guid">): boolean {
  return style === null ? guid.includes(";+;") : style === STYLE_GROUP;
}

/** The channel that a service is: by the handle and not by the guid, which macOS 26 begins with `any`. Null: not known. */
export function channelOfService(service: string | null): Channel | null {
  switch (service?.toLowerCase()) {
    case "imessage":
      return "imessage";
    case "sms":
    case "rcs":
      return "sms";
    default:
      return null;
  }
}

/** The service that a guid names; null for `any`, and for what is no chat's guid. */
export function serviceOfGuid(guid: string): string | null {
  const [service = "", ...rest] = guid.split(";");
  return rest.length === 0 || service.toLowerCase() === "any" ? null : service;
}

function contentOf(record: Readonly<Record<string, unknown>>) {
  return {
    text: textOf(record.text),
    subject: textOf(record.subject),
    balloonBundleId: textOf(record.balloonBundleId),
    expressiveSendStyleId: textOf(record.expressiveSendStyleId),
    payloadData: record.payloadData ?? null,
    messageSummaryInfo: record.messageSummaryInfo ?? null,
    partCount: numberOf(record.partCount),
  };
}

function statesOf(record: Readonly<Record<string, unknown>>) {
  return {
    error: numberOf(record.error) ?? 0,
    dateCreated: numberOf(record.dateCreated),
    dateDelivered: numberOf(record.dateDelivered),
    dateRead: numberOf(record.dateRead),
    dateEdited: numberOf(record.dateEdited),
    dateRetracted: numberOf(record.dateRetracted),
    isDelivered: record.isDelivered === true,
    isFromMe: record.isFromMe === true,
  };
}

/** The largest value of `at` over all rows, 0 if there is none. */
export function newestOf(rows: readonly MacMessage[], at: (row: MacMessage) => number | null): number {
  return rows.reduce((newest, row) => Math.max(newest, at(row) ?? 0), 0);
}
