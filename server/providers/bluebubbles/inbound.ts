/** What a row of the Mac's messages tells, as a table of its kinds. Pure: what is in no row is given. */

import type { Channel } from "../../../sdk/wire.ts";
import { recordOf } from "../../core/loose-json.ts";
import type {
  AudioKeptSignal,
  GroupSignal,
  GroupSnapshot,
  InboundAttachment,
  InboundSignal,
  ReactionSignal,
  ReceiptSignal,
  RevisionSignal,
} from "../provider.ts";
import { type AppleCash, isAppleCash } from "./apple-cash.ts";
import { effectOfId } from "./effects.ts";
import { NOT_ON_IMESSAGE_ERROR } from "./outcomes.ts";
import { contentOf, type Tapback, tapbackOf, withoutPart } from "./reactions.ts";
import { channelOfService, type MacAttachment, type MacMessage, serviceOfGuid } from "./records.ts";

/**
 * What a row is. `own`: a message that went out from the Mac; `message`, `reaction`, `audioKept`: a contact's; `group`:
 * something that happened to a group, whoever did it; `other`: nothing that anybody is told of.
 */
export type RowKind = "own" | "message" | "reaction" | "audioKept" | "group" | "other";

/** Rows of which there is something to tell that a contact, or somebody in a group, did. */
export type ContactRowKind = Exclude<RowKind, "own" | "other">;

/** What a contact's row may tell: kinds of signals. */
export type RowSignal = "inbound" | "revision" | "reaction" | "audioKept" | "group";

/** What each kind of row tells, when it is heard of for the first time and once it was changed. */
export const ROW_SIGNALS: Readonly<Record<ContactRowKind, { first: RowSignal; changed: RowSignal | null }>> = {
  message: { first: "inbound", changed: "revision" },
  reaction: { first: "reaction", changed: null },
  audioKept: { first: "audioKept", changed: null },
  group: { first: "group", changed: null },
};

/** `item_type` of the Mac's messages. 4 (a place is shared) and 6 (a film is watched together) are told to nobody. */
const ITEM = { message: 0, participant: 1, title: 2, leftOrPhoto: 3, audioKept: 5 } as const;
const GROUP_ITEMS: readonly number[] = [ITEM.participant, ITEM.title, ITEM.leftOrPhoto];

/** `associated_message_type` of what is a message all the same: none, a balloon that goes on, a sticker on a bubble. */
const MESSAGE_TYPES: readonly (string | null)[] = [null, "", "0", "0.0", "2", "3", "sticker", "1000", "2007"];

/** Files that Messages keeps the preview of a link in: nobody sent them. */
const PREVIEW_SUFFIX = ".pluginPayloadAttachment";

/** Apple's code of a recipient who is not on iMessage, and of a wait without end; no others have a known meaning. */
const ERRORS: Readonly<Record<number, string>> = {
  4: "Messages gave up waiting for an answer",
  22: "the recipient is not on iMessage",
};

/** What a row is. */
export function kindOf(row: MacMessage): RowKind {
  if (GROUP_ITEMS.includes(row.itemType)) return "group";
  if (row.isFromMe) return row.itemType === ITEM.message && isMessage(row) ? "own" : "other";
  if (row.itemType === ITEM.audioKept) return row.balloonBundleId === null ? "audioKept" : "other";
  if (row.itemType !== ITEM.message) return "other";
  if (tapbackOf(row) !== null) return "reaction";
  return isMessage(row) ? "message" : "other";
}

/** The channel that a row came or went on, where it says so. */
export function channelOfRow(row: MacMessage): Channel | null {
  const guid = row.chats[0]?.guid;
  const service = row.handle?.service ?? (guid === undefined ? null : serviceOfGuid(guid));
  return channelOfService(service);
}

/** How far one of our own messages is, by rank: a higher one implies those before it, but for a failure. */
export const RECEIPT_RANK = { sent: 1, failed: 2, delivered: 3, read: 4 } as const;

/** The furthest that a row of our own tells of its message. Only a thread with one other end tells who has read it. */
export function receiptOf(row: MacMessage, channel: Channel, isGroup: boolean): ReceiptSignal {
  const base = { kind: "receipt", reference: row.guid, channel } as const;
  if (row.dateRead !== null && !isGroup) return { ...base, receipt: "read" };
  if (row.isDelivered || row.dateDelivered !== null) return { ...base, receipt: "delivered" };
  if (row.error === 0) return { ...base, receipt: "sent" };
  const reason = ERRORS[row.error] ?? "Messages could not send it";
  const notReachable = row.error === NOT_ON_IMESSAGE_ERROR && channel === "imessage";
  return { ...base, receipt: "failed", code: String(row.error), reason, ...(notReachable ? { notReachable } : {}) };
}

/** What a contact's row came to, and in what. */
export interface Destination {
  to: string;
  channel: Channel;
  group: GroupSnapshot | null;
}

/** A message of a contact. `cash`: what its balloon says, where it is a payment that was not counted before. */
export function inboundOf(
  row: MacMessage,
  from: string,
  { to, channel, group }: Destination,
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
    attachments: attachmentsOf(row),
    replyTo: withoutPart(row.threadOriginatorGuid ?? (isSticker(row) ? row.associatedMessageGuid : null)),
    payment,
    effect: effectOfId(row.expressiveSendStyleId),
  };
}

/** Whether a contact's row holds nothing that could be told: it may be there before its text and its files are. */
export function isEmpty(row: MacMessage): boolean {
  return textOfRow(row) === null && attachmentsOf(row).length === 0 && row.balloonBundleId === null;
}

/** Whether a row is a payment's, whatever its payload says. */
export function isPaymentRow(row: MacMessage): boolean {
  return isAppleCash(row.balloonBundleId);
}

/** The text of a row, its subject before it as a phone shows it; null where there is none. */
export function textOfRow({ subject, text }: Pick<MacMessage, "subject" | "text">): string | null {
  const lines = [subject, text].filter((line) => line !== null && line.trim() !== "");
  return lines.length === 0 ? null : lines.join("\n");
}

/** A contact's reaction. `targetText`: of the message that it is about, asked for where the row has no words. */
export function reactionOfRow(
  row: MacMessage,
  tapback: Tapback,
  from: string,
  { to, channel }: Destination,
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
    ...(emoji === null ? {} : { emoji }),
    content: textOfRow(row) ?? contentOf(tapback, targetText),
  };
}

/** What a contact did to a message of its own since it wrote it; null where that is nothing. */
export function revisionOf(
  row: MacMessage,
  { to, channel }: Pick<Destination, "to" | "channel">,
): RevisionSignal | null {
  if (row.dateEdited === null && row.dateRetracted === null) return null;
  return { kind: "revision", reference: row.guid, to, channel, text: isRetracted(row) ? null : (textOfRow(row) ?? "") };
}

/** When a contact's message was changed or taken back last, by the Mac's clock; 0: never. */
export function changedAtOf({ dateEdited, dateRetracted }: MacMessage): number {
  return Math.max(dateEdited ?? 0, dateRetracted ?? 0);
}

/** Whether all of a contact's message was taken back. */
export function isRetracted(row: MacMessage): boolean {
  if (row.dateRetracted !== null) return true;
  if (row.dateEdited === null) return false;
  const summary = recordOf(Array.isArray(row.messageSummaryInfo) ? row.messageSummaryInfo[0] : row.messageSummaryInfo);
  const parts = Array.isArray(summary?.retractedParts) ? summary.retractedParts.length : 0;
  return row.partCount === 0 || (parts > 0 && isEmpty(row));
}

/** That a contact kept an audio message of ours; null where the row does not say which. */
export function audioKeptOf(row: MacMessage, { to, channel }: Destination): AudioKeptSignal | null {
  // Where Messages says which, it does so in one of these.
  const named = [withoutPart(row.associatedMessageGuid), row.subject].find((guid) => guid !== null && isGuid(guid));
  return named === undefined || named === null ? null : { kind: "audioKept", reference: named, to, channel };
}

/** What happened to a group. `otherAddress`: of the handle that the row names beside the one who did it. */
export function groupChangeOf(
  row: MacMessage,
  { to, channel, group }: Destination & { group: GroupSnapshot },
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
  return attachments.filter(({ transferName }) => transferName?.endsWith(PREVIEW_SUFFIX) !== true).map(attachmentOf);
}

function attachmentOf({ guid, mimeType, transferName, totalBytes }: MacAttachment): InboundAttachment {
  return { reference: guid, mimeType, filename: transferName, totalBytes, data: null };
}

/** As Apple writes one: it is no text that a person typed. */
function isGuid(text: string): boolean {
  return /^[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}$/i.test(text);
}
