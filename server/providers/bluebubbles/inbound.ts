/** Turns rows of the Mac's message table into signals, by kind of row. Pure: facts from outside the row are parameters. */

import type { Channel } from "../../../sdk/wire.ts";
import type { InboundAttachment } from "../../core/attachment.ts";
import type { GroupSnapshot } from "../../core/group.ts";
import { recordOf } from "../../core/loose-json.ts";
import type {
  AudioKeptSignal,
  GroupSignal,
  InboundSignal,
  ReactionSignal,
  ReceiptSignal,
  RevisionSignal,
  WrittenSignal,
} from "../provider.ts";
import { type AppleCash, isAppleCash } from "./apple-cash.ts";
import { effectOfId } from "./effects.ts";
import { NOT_ON_IMESSAGE_ERROR } from "./outcomes.ts";
import { contentOf, type Tapback, tapbackOf, withoutPart } from "./reactions.ts";
import { channelOfService, type MacAttachment, type MacMessage, serviceOfGuid } from "./records.ts";

/**
 * Kind of a row. `own`: a message sent from the Mac. `message`, `reaction` and `audioKept` come from a contact. `group`: a
 * change of a group, by anybody. `other`: never reported.
 */
export type RowKind = "own" | "message" | "reaction" | "audioKept" | "group" | "other";

/** Rows that report an action of a contact or a change of a group. */
export type ContactRowKind = Exclude<RowKind, "own" | "other">;

/** Kinds of signals that such a row can produce. */
export type RowSignal = "inbound" | "revision" | "reaction" | "audioKept" | "group";

/** Signals of each kind of row: when the row is new, and when it was changed later. */
export const ROW_SIGNALS: Readonly<Record<ContactRowKind, { first: RowSignal; changed: RowSignal | null }>> = {
  message: { first: "inbound", changed: "revision" },
  reaction: { first: "reaction", changed: null },
  audioKept: { first: "audioKept", changed: null },
  group: { first: "group", changed: null },
};

/** Values of `item_type`. 4 (shared location) and 6 (SharePlay) are not reported. */
const ITEM = { message: 0, participant: 1, title: 2, leftOrPhoto: 3, audioKept: 5 } as const;
const GROUP_ITEMS: readonly number[] = [ITEM.participant, ITEM.title, ITEM.leftOrPhoto];

/** Values of `associated_message_type` that still are messages: none, a continued app message, a sticker on a bubble. */
const MESSAGE_TYPES: readonly (string | null)[] = [null, "", "0", "0.0", "2", "3", "sticker", "1000", "2007"];

/** Suffix of the files in which Messages stores link previews. They are no attachments. */
const PREVIEW_SUFFIX = ".pluginPayloadAttachment";

/** Reasons for Apple's error codes: 22 for a recipient without iMessage, 4 for a timeout. The other codes are undocumented. */
const ERRORS: Readonly<Record<number, string>> = {
  4: "Messages timed out",
  22: "the recipient is not on iMessage",
};

/** Classifies a row. */
export function kindOf(row: MacMessage): RowKind {
  if (GROUP_ITEMS.includes(row.itemType)) return "group";
  if (row.isFromMe) return row.itemType === ITEM.message && isMessage(row) ? "own" : "other";
  if (row.itemType === ITEM.audioKept) return row.balloonBundleId === null ? "audioKept" : "other";
  if (row.itemType !== ITEM.message) return "other";
  if (tapbackOf(row) !== null) return "reaction";
  return isMessage(row) ? "message" : "other";
}

/** Channel of a row; null if the row does not name its service. */
export function channelOfRow(row: MacMessage): Channel | null {
  const guid = row.chats[0]?.guid;
  const service = row.handle?.service ?? row.service ?? (guid === undefined ? null : serviceOfGuid(guid));
  return channelOfService(service);
}

/** Order of the receipts of our messages. A higher receipt implies the lower ones, except `failed`. */
export const RECEIPT_RANK = { sent: 1, failed: 2, delivered: 3, read: 4 } as const;

/** The highest receipt in a row of ours. In a group Messages does not show who read the message. */
export function receiptOf(row: MacMessage, channel: Channel, isGroup: boolean): ReceiptSignal {
  const base = { kind: "receipt", reference: row.guid, channel } as const;
  if (row.dateRead !== null && !isGroup) return { ...base, receipt: "read" };
  if (row.isDelivered || row.dateDelivered !== null) return { ...base, receipt: "delivered" };
  if (row.error === 0) return { ...base, receipt: "sent" };
  const reason = ERRORS[row.error] ?? "Messages could not send it";
  const notReachable = row.error === NOT_ON_IMESSAGE_ERROR && channel === "imessage";
  return { ...base, receipt: "failed", code: String(row.error), reason, ...(notReachable ? { notReachable } : {}) };
}

/** The address, channel and group that a contact's row arrived at. */
export interface RowDestination {
  to: string;
  channel: Channel;
  group: GroupSnapshot | null;
}

/** Signal of a contact's message. `cash` is its Apple Cash payment, unless an earlier message reported the payment. */
export function inboundOf(
  row: MacMessage,
  from: string,
  { to, channel, group }: RowDestination,
  cash: AppleCash | null,
): InboundSignal {
  const isPayment = cash !== null && cash.kind !== "recurring" && cash.amountCents !== null;
  const payment = isPayment
    ? { amountCents: cash.amountCents ?? 0, currency: "USD" as const, isRequest: cash.kind === "request" }
    : null;
  return {
    kind: "inbound",
    reference: row.guid,
    from,
    to,
    channel,
    group,
    text: textOfRow(row) ?? cash?.text ?? null,
    attachments: [...attachmentsOf(row), ...missingFilesOf(row)],
    grows: true,
    replyTo: withoutPart(row.threadOriginatorGuid ?? (isSticker(row) ? row.associatedMessageGuid : null)),
    payment,
    effect: effectOfId(row.expressiveSendStyleId),
  };
}

/** Signal of a message that somebody wrote in Messages; null if the row does not say to whom. */
export function writtenOf(
  row: MacMessage,
  { to, channel, group }: RowDestination,
  writtenAt: number,
): WrittenSignal | null {
  const contact = group === null ? (row.chats[0]?.chatIdentifier ?? null) : null;
  if (group === null && contact === null) return null;
  return {
    kind: "written",
    reference: row.guid,
    contact,
    to,
    channel,
    group,
    text: textOfRow(row),
    attachments: attachmentsOf(row),
    replyTo: withoutPart(row.threadOriginatorGuid),
    effect: effectOfId(row.expressiveSendStyleId),
    writtenAt,
  };
}

/**
 * Whether a contact's message still lacks something. A row may exist before its text and the payload of its payment do, and before
 * Messages has linked the files that its body names.
 */
export function isIncomplete(row: MacMessage): boolean {
  if (isRetracted(row)) return false;
  return isEmpty(row) || missingFilesOf(row).length > 0 || (isPaymentRow(row) && row.payloadData === null);
}

/** How much a contact's message has: a row with more than was reported of it is reported again. */
export function sizeOf(row: MacMessage): number {
  return (
    attachmentsOf(row).length +
    (textOfRow(row) === null ? 0 : 1) +
    (isPaymentRow(row) && row.payloadData !== null ? 1 : 0)
  );
}

/** Whether a contact's row is still empty. */
export function isEmpty(row: MacMessage): boolean {
  return textOfRow(row) === null && attachmentsOf(row).length === 0 && row.balloonBundleId === null;
}

/** Whether a row is an Apple Cash payment. */
export function isPaymentRow(row: MacMessage): boolean {
  return isAppleCash(row.balloonBundleId);
}

/** Text of a row, after its subject if there is one; null if both are empty. */
export function textOfRow({ subject, text }: Pick<MacMessage, "subject" | "text">): string | null {
  const lines = [subject, text].filter((line) => line !== null && line.trim() !== "");
  return lines.length === 0 ? null : lines.join("\n");
}

/** Signal of a contact's reaction. `targetText` is the text of the target message, needed if the row has no text. */
export function reactionOfRow(
  row: MacMessage,
  tapback: Tapback,
  from: string,
  { to, channel }: RowDestination,
  targetText: string | null,
): ReactionSignal {
  const { target, reaction, emoji, isRemoved } = tapback;
  return {
    kind: "reaction",
    reference: row.guid,
    from,
    to,
    channel,
    target,
    type: isRemoved ? "remove" : reaction,
    ...(reaction !== "emoji" || isRemoved || emoji === null ? {} : { emoji }),
    content: textOfRow(row) ?? contentOf(tapback, targetText),
  };
}

/** Signal of an edited or unsent message of a contact; null if it was neither. */
export function revisionOf(
  row: MacMessage,
  { to, channel }: Pick<RowDestination, "to" | "channel">,
): RevisionSignal | null {
  if (row.dateEdited === null && row.dateRetracted === null) return null;
  return { kind: "revision", reference: row.guid, to, channel, text: isRetracted(row) ? null : (textOfRow(row) ?? "") };
}

/** Date of the latest edit or unsend, by the Mac's clock; 0 if there is none. */
export function changedAtOf({ dateEdited, dateRetracted }: MacMessage): number {
  return Math.max(dateEdited ?? 0, dateRetracted ?? 0);
}

/** Whether a contact unsent the whole message. */
export function isRetracted(row: MacMessage): boolean {
  if (row.dateRetracted !== null) return true;
  if (row.dateEdited === null) return false;
  const summary = recordOf(Array.isArray(row.messageSummaryInfo) ? row.messageSummaryInfo[0] : row.messageSummaryInfo);
  const parts = Array.isArray(summary?.retractedParts) ? summary.retractedParts.length : 0;
  return row.partCount === 0 || (parts > 0 && isEmpty(row));
}

/** Signal that a contact kept an audio message of ours; null if the row does not identify the message. */
export function audioKeptOf(row: MacMessage, { to, channel }: RowDestination): AudioKeptSignal | null {
  // If Messages identifies the message, it does so in one of these columns.
  const named = [withoutPart(row.associatedMessageGuid), row.subject].find((guid) => guid !== null && isGuid(guid));
  return named === undefined || named === null ? null : { kind: "audioKept", reference: named, to, channel };
}

/** Signal of a group change. `otherAddress` is the address of the row's second handle, next to the actor's. */
export function groupChangeOf(
  row: MacMessage,
  { to, channel, group }: RowDestination & { group: GroupSnapshot },
  otherAddress: string | null,
): GroupSignal | null {
  const actor = row.isFromMe ? to : (row.handle?.address ?? null);
  const base = { kind: "group", reference: row.guid, to, channel, group, actor } as const;
  const action = `${row.itemType} ${row.groupActionType}`;
  switch (action) {
    case `${ITEM.participant} 0`:
      return { ...base, change: "participantAdded", participant: otherAddress, title: null };
    case `${ITEM.participant} 1`:
      return { ...base, change: "participantLeft", participant: otherAddress, title: null };
    case `${ITEM.leftOrPhoto} 0`:
      return { ...base, change: "participantLeft", participant: actor, title: null };
    case `${ITEM.leftOrPhoto} 1`:
    case `${ITEM.leftOrPhoto} 2`:
      return { ...base, change: "photoChanged", participant: null, title: null };
    default:
      if (row.itemType !== ITEM.title) return null;
      return {
        ...base,
        change: "titleChanged",
        participant: null,
        title: row.groupTitle === "" ? null : row.groupTitle,
      };
  }
}

function isMessage({ associatedMessageType }: MacMessage): boolean {
  return MESSAGE_TYPES.includes(associatedMessageType);
}

function isSticker({ associatedMessageType: type }: MacMessage): boolean {
  return type === "sticker" || type === "1000" || type === "2007";
}

function attachmentsOf({ attachments }: MacMessage): readonly InboundAttachment[] {
  return attachments.filter(({ transferName }) => !isPreview(transferName)).map(attachmentOf);
}

/** The files that the body names and Messages has not linked. None if it has linked as many as the body names. */
function missingFilesOf({ attachments, namedFiles }: MacMessage): readonly InboundAttachment[] {
  if (attachments.length >= namedFiles.length) return [];
  const linked = new Set(attachments.map(({ guid }) => guid));
  const missing = namedFiles.filter(({ guid, filename }) => !linked.has(guid) && !isPreview(filename));
  return missing.map(({ guid: reference, filename }) => ({
    reference,
    mimeType: null,
    filename,
    totalBytes: null,
    data: null,
    missing: true,
  }));
}

function attachmentOf({ guid, mimeType, transferName, totalBytes }: MacAttachment): InboundAttachment {
  return { reference: guid, mimeType, filename: transferName, totalBytes, data: null };
}

function isPreview(filename: string | null): boolean {
  return filename?.endsWith(PREVIEW_SUFFIX) === true;
}

/** Whether a text is a guid in Apple's format, which nobody types. */
function isGuid(text: string): boolean {
  return /^[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}$/i.test(text);
}
