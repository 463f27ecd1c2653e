/** Rows of the fake Mac as BlueBubbles 1.9.9 writes them: in full to REST and socket, cut down to webhooks. */

import type { AttachmentRow, ChatRow, HandleRow, MessageRow } from "./chat-db.ts";

/** Relations and blobs that a request asks for. */
export interface Relations {
  chats: boolean;
  participants: boolean;
  attachments: boolean;
  attributedBody: boolean;
  payloadData: boolean;
  summary: boolean;
}

export const EVERYTHING: Relations = {
  chats: true,
  participants: false,
  attachments: true,
  attributedBody: true,
  payloadData: true,
  summary: true,
};

/** The parts named in `with`, in any spelling that the server accepts. */
export function wantedOf(names: readonly string[]): Relations {
  const given = new Set(names.map((name) => name.trim().toLowerCase().replaceAll("-", "")));
  const has = (...spellings: string[]) => spellings.some((spelling) => given.has(spelling));
  const participants = has("chat.participants", "chats.participants");
  return {
    chats: participants || has("chat", "chats"),
    participants,
    attachments: has("attachment", "attachments"),
    attributedBody: has("attributedbody"),
    payloadData: has("payloaddata"),
    summary: has("messagesummaryinfo"),
  };
}

export function handleRecord({ rowId, address, service }: HandleRow) {
  return { originalROWID: rowId, address, service, uncanonicalizedId: null, country: "us" };
}

export function chatRecord(chat: ChatRow, withParticipants: boolean) {
  return {
    ...briefChat(chat),
    ...(withParticipants ? { participants: chat.participants.map(handleRecord) } : {}),
    isFiltered: false,
    groupId: chat.groupId,
    properties: null,
    lastAddressedHandle: chat.lastAddressedHandle,
  };
}

/** A message as in REST and on the socket, without the columns that the server does not serialise. */
export function messageRecord(row: MessageRow, wanted: Relations = EVERYTHING) {
  return {
    ...head(row, wanted.attachments),
    attributedBody: wanted.attributedBody ? attributedBody(row) : null,
    country: null,
    isDelayed: false,
    isAutoReply: false,
    isSystemMessage: false,
    isServiceMessage: false,
    isForward: false,
    threadOriginatorPart: row.threadOriginatorGuid === null ? null : "0:0:0",
    isCorrupt: false,
    datePlayed: null,
    cacheRoomnames: row.chat.style === 43 ? row.chat.identifier : null,
    isSpam: false,
    isExpired: false,
    timeExpressiveSendPlayed: null,
    isAudioMessage: row.isAudioMessage,
    replyToGuid: null,
    shareStatus: 0,
    shareDirection: 0,
    wasDeliveredQuietly: false,
    didNotifyRecipient: false,
    chats: wanted.chats ? [chatRecord(row.chat, wanted.participants)] : [],
    ...tail(row, wanted),
  };
}

/** A message as in a webhook: a `new-message` has its chat, an `updated-message` does not. */
export function notificationRecord(row: MessageRow, withChat: boolean) {
  return {
    ...head(row, true),
    ...(withChat ? { chats: [briefChat(row.chat)] } : {}),
    ...tail(row, { payloadData: false, summary: false }),
  };
}

function briefChat({ rowId, guid, style, identifier, displayName }: ChatRow) {
  return { originalROWID: rowId, guid, style, chatIdentifier: identifier, isArchived: false, displayName };
}

function head(row: MessageRow, withAttachments: boolean) {
  return {
    originalROWID: row.rowId,
    guid: row.guid,
    text: row.text ?? "",
    attributedBody: null,
    handle: row.handle === null ? null : handleRecord(row.handle),
    handleId: row.handle?.rowId ?? 0,
    otherHandle: row.otherHandle,
    attachments: withAttachments ? row.attachments.map(attachmentRecord) : [],
    subject: row.subject,
    error: row.error,
    dateCreated: row.dateCreated,
    dateRead: row.dateRead,
    dateDelivered: row.dateDelivered,
    isDelivered: row.isDelivered,
    isFromMe: row.isFromMe,
    hasDdResults: false,
    isArchived: false,
    itemType: row.itemType,
    groupTitle: row.groupTitle ?? (row.rowId % 2 === 0 ? null : ""),
    groupActionType: row.groupActionType,
    balloonBundleId: row.balloonBundleId,
    associatedMessageGuid: row.associatedMessageGuid,
    // Ordinary rows can have either value: a check for null alone would take half of them for reactions.
    associatedMessageType: row.associatedMessageType ?? (row.rowId % 2 === 0 ? null : "0.0"),
    expressiveSendStyleId: row.expressiveSendStyleId,
    threadOriginatorGuid: row.threadOriginatorGuid,
    hasPayloadData: row.payloadData !== null,
  };
}

/** The body with its attributes, as node-typedstream decodes it; null for a row without a text or a file. */
function attributedBody({ text, namedFiles }: MessageRow) {
  if (text === null && namedFiles.length === 0) return null;
  const part = (at: number, length: number, more: object = {}) => ({
    range: [at, length],
    attributes: { __kIMBaseWritingDirectionAttributeName: "-1", __kIMMessagePartAttributeName: at, ...more },
  });
  const files = namedFiles.map(({ guid, transferName }, at) =>
    part(at, 1, { __kIMFileTransferGUIDAttributeName: guid, __kIMFilenameAttributeName: transferName }),
  );
  const words = text === null || text === "" ? [] : [part(files.length, text.length)];
  return [{ string: "\ufffc".repeat(files.length) + (text ?? ""), runs: [...files, ...words] }];
}

function tail(row: MessageRow, wanted: Pick<Relations, "payloadData" | "summary">) {
  const summary = row.retractedParts.length > 0 ? [{ retractedParts: row.retractedParts }] : null;
  return {
    messageSummaryInfo: wanted.summary ? summary : null,
    payloadData: wanted.payloadData ? row.payloadData : null,
    dateEdited: row.dateEdited,
    dateRetracted: row.dateRetracted,
    partCount: row.partCount,
  };
}

function attachmentRecord(row: AttachmentRow) {
  return {
    originalROWID: row.rowId,
    guid: row.guid,
    uti: row.mimeType === "image/png" ? "public.png" : "public.data",
    mimeType: row.mimeType,
    transferName: row.transferName,
    totalBytes: row.bytes.length,
    transferState: row.isOnDisk ? 5 : 0,
    isOutgoing: row.isOutgoing,
    hideAttachment: false,
    isSticker: false,
    originalGuid: row.guid,
    hasLivePhoto: false,
  };
}
