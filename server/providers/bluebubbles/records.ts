/** Parses the Mac's JSON: every field may be missing or null, and unused fields are ignored. */

import type { Channel } from "../../../sdk/wire.ts";
import { listOf, numberOf, recordOf, textOf } from "../../core/loose-json.ts";
import { type NamedFile, namedFilesOf } from "./attributed-body.ts";

/** Contact address. `service` is `iMessage`, `SMS` or `RCS`. */
export interface MacHandle {
  address: string;
  service: string | null;
}

/** File of a message. `transferName` is the sender's file name. */
export interface MacAttachment {
  guid: string;
  mimeType: string | null;
  transferName: string | null;
  totalBytes: number | null;
}

/** Conversation. `style` 43 is a group, 45 a thread with one contact. */
export interface MacChat {
  guid: string;
  style: number | null;
  chatIdentifier: string | null;
  displayName: string | null;
  participants: readonly MacHandle[];
  /** Our address that was used last in this chat. */
  lastAddressedHandle: string | null;
  /** Present only in a new chat: the message that began it. */
  messages: readonly MacMessage[];
}

/** Row of the Mac's message table. Times are epoch milliseconds by the Mac's clock. */
export interface MacMessage {
  rowId: number | null;
  guid: string;
  /** Service of the message; null from a BlueBubbles that does not write it, as all released ones. */
  service: string | null;
  /** `""` if the message has files only. */
  text: string | null;
  subject: string | null;
  /** The contact; null on some of our own messages. */
  handle: MacHandle | null;
  /** Files that Messages has linked to the message. It may do so after the row was pushed. */
  attachments: readonly MacAttachment[];
  /** Files that the body names, linked or not. Empty if the query did not include the body. */
  namedFiles: readonly NamedFile[];
  /** Empty if the query did not include chats. */
  chats: readonly MacChat[];
  /** 0: none. 22: the recipient is not on iMessage. 4: timeout. Others are undocumented. */
  error: number;
  dateCreated: number | null;
  dateDelivered: number | null;
  dateRead: number | null;
  dateEdited: number | null;
  dateRetracted: number | null;
  isDelivered: boolean;
  isFromMe: boolean;
  /** 0: a message. Any other value: a change of the conversation. */
  itemType: number;
  groupActionType: number;
  groupTitle: string | null;
  balloonBundleId: string | null;
  /** `p:0/<guid>` or `bp:<guid>`: target of a reaction. */
  associatedMessageGuid: string | null;
  associatedMessageType: string | null;
  associatedMessageEmoji: string | null;
  expressiveSendStyleId: string | null;
  /** First message of the reply thread. */
  threadOriginatorGuid: string | null;
  payloadData: unknown;
  messageSummaryInfo: unknown;
  /** 0 once the whole message was unsent. */
  partCount: number | null;
  /** Row id of the handle that was added or removed. */
  otherHandle: number | null;
}

/** Error in a response. `type` is, for example, `iMessage Error`. */
export interface MacErrorBody {
  type: string | null;
  message: string | null;
}

const STYLE_GROUP = 43;

/** Parses a message; null if it has no guid. */
export function parseMessage(value: unknown): MacMessage | null {
  const record = recordOf(value);
  const guid = textOf(record?.guid);
  if (record === null || guid === null) return null;
  return {
    ...contentOf(record),
    ...statesOf(record),
    rowId: numberOf(record.originalROWID),
    guid,
    service: textOf(record.service),
    handle: parseHandle(record.handle),
    attachments: listOf(record.attachments, parseAttachment),
    namedFiles: namedFilesOf(record.attributedBody),
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

/** Parses a chat; null if it has no guid. */
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

/** Parses a handle; null if it has no address. */
export function parseHandle(value: unknown): MacHandle | null {
  const record = recordOf(value);
  const address = textOf(record?.address);
  return address === null ? null : { address, service: textOf(record?.service) };
}

/** Parses an attachment; null if it has no guid. */
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

/** The `data` of a successful response; null if missing. */
export function dataOf(value: unknown): unknown {
  return recordOf(value)?.data ?? null;
}

/** Parses the error of a response. */
export function parseErrorBody(value: unknown): MacErrorBody {
  const record = recordOf(value);
  const error = recordOf(record?.error);
  return { type: textOf(error?.type), message: textOf(error?.message) ?? textOf(record?.message) };
}

/** Parses the messages of a query, leaving out entries that are no messages. */
export function parseMessages(data: unknown): readonly MacMessage[] {
  return listOf(data, parseMessage);
}

/** Whether a chat is a group, by its style, or by its guid if the style is missing. */
export function isGroupChat({ style, guid }: Pick<MacChat, "style" | "guid">): boolean {
  return style === null ? guid.includes(";+;") : style === STYLE_GROUP;
}

/** Channel of a service. Use the handle's service: from macOS 26 on guids begin with `any`. Null if not known. */
export function channelOfService(service: string | null): Channel | null {
  switch (service?.toLowerCase()) {
    case "imessage":
      return "imessage";
    case "sms":
      return "sms";
    case "rcs":
      return "rcs";
    default:
      return null;
  }
}

/** Service in a guid; null for `any`, and for text that is no chat's guid. */
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
