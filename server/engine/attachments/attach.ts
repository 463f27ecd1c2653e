/** Stores the files of messages: files of a request to send, and files from contacts. */

import type { AttachmentInput, ErrorDetail } from "../../../sdk/wire.ts";
import { checkAddress } from "../../core/address.ts";
import type { Content, InboundAttachment, MessageAttachment } from "../../core/attachment.ts";
import { invalidFields } from "../../core/error.ts";
import type { CustomerId, InstanceId, MessageId } from "../../core/id.ts";
import { checkMedia, filenameOf, isAudio, mimeTypeOf, notAudio, refuseType, typeOfReceived } from "../../core/media.ts";
import type { Operation } from "../../store/store.ts";
import type { EngineDeps } from "../engine-deps.ts";

/** Details of one refusal. */
const DETAILS_MAX = 100;

/** The message that files belong to. */
export interface AttachmentOwner {
  customerId: CustomerId;
  messageId: MessageId;
}

/** The files of a message, and the operations that store their bytes, for the message's transaction. */
export interface PreparedAttachments {
  attachments: MessageAttachment[];
  operations: Operation[];
}

type Attaching = Pick<EngineDeps, "clock" | "newId" | "settings" | "signedLinks">;

/**
 * Prepares the files of a request to send: bytes are stored, URLs are fetched at the send attempt. Throws a 400 that
 * names every invalid field (`attachments[0].data`, `.mimeType`, `.url`).
 */
export function attach(
  deps: Attaching,
  owner: AttachmentOwner,
  inputs: readonly AttachmentInput[],
): PreparedAttachments {
  const details: ErrorDetail[] = [];
  const attached: PreparedAttachments = { attachments: [], operations: [] };
  for (const [index, input] of inputs.entries()) {
    const refuse = (field: string, message: string) => {
      details.push({ path: `attachments[${index}].${field}`, message });
      return null;
    };
    const attachment = input.type === "url" ? fromUrl(deps, input, refuse) : null;
    if (attachment !== null) attached.attachments.push(attachment);
    const content = input.type === "base64" ? fromBase64(deps, owner, input, refuse) : null;
    if (content === null) continue;
    attached.operations.push({ op: "insert", table: "contents", record: content });
    attached.attachments.push(named(deps, content, input.isAudioMessage ?? false));
  }
  if (details.length > 0) throw invalidFields(details.slice(0, DETAILS_MAX));
  return attached;
}

type Refuse = (field: string, message: string) => null;

function fromUrl(deps: Attaching, input: AttachmentInput, refuse: Refuse): MessageAttachment | null {
  const { url, data, mimeType = null, isAudioMessage = false } = input;
  if (data !== undefined) return refuse("data", "must be left out with the type url");
  if (url === undefined) return refuse("url", "is required with the type url");
  const problem = checkAddress(url, deps.settings.fetchAllow, "TB_FETCH_ALLOW");
  if (problem !== null) return refuse("url", problem);
  const unfit = mimeType === null ? null : refuseType(mimeType);
  if (unfit !== null) return refuse("mimeType", unfit);
  const type = mimeType === null ? null : mimeTypeOf(mimeType);
  if (isAudioMessage && type !== null && !isAudio(type)) return refuse("isAudioMessage", notAudio(type));
  return {
    guid: deps.newId("att"),
    mimeType: type,
    filename: filenameOf(input.filename ?? null),
    totalBytes: null,
    isAudioMessage,
    url,
    token: null,
  };
}

function fromBase64(deps: Attaching, owner: AttachmentOwner, input: AttachmentInput, refuse: Refuse): Content | null {
  const { url, data, mimeType = null, isAudioMessage = false } = input;
  if (url !== undefined) return refuse("url", "must be left out with the type base64");
  if (data === undefined) return refuse("data", "is required with the type base64");
  const bytes = decodeBase64(data);
  if (bytes === null) {
    const hint = data.startsWith("data:") ? "; leave out what stands before the comma" : "";
    return refuse("data", `must be base64 (RFC 4648, 4) with its padding and without line breaks${hint}`);
  }
  const judged = checkMedia(bytes, mimeType);
  if ("refused" in judged) return refuse(judged.field, judged.refused);
  if (isAudioMessage && !isAudio(judged.mimeType)) return refuse("isAudioMessage", notAudio(judged.mimeType));
  return {
    ...keptBy(deps, owner),
    id: deps.newId("att"),
    mimeType: judged.mimeType,
    filename: filenameOf(input.filename ?? null),
    totalBytes: bytes.length,
    data: bytes,
    instanceId: null,
    reference: null,
  };
}

/** The decoded bytes of a text in canonical base64; null for any other text. */
function decodeBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : null;
}

function keptBy({ clock }: Attaching, { customerId, messageId }: AttachmentOwner) {
  return { customerId, messageId, createdAt: clock.real() };
}

/** The attachment of a stored file, with a link that lasts as long as today's events are kept. */
function named(deps: Attaching, content: Content, isAudioMessage: boolean): MessageAttachment {
  const { id: guid, mimeType, filename, totalBytes, createdAt } = content;
  const token = deps.signedLinks.token(guid, createdAt, deps.settings.retentionMs);
  return { guid, mimeType, filename, totalBytes, isAudioMessage, url: null, token };
}

/**
 * Stores the files of a contact's message: their bytes, or the provider's reference if the provider keeps the bytes.
 * Refuses nothing, because every received file is served only as a download. Of a file that is missing only the record says
 * something. If the message `grows`, its record has the references by which `filesGained` recognises the files.
 */
export function keepInbound(
  deps: Attaching,
  owner: InboundOwner,
  attachments: readonly InboundAttachment[],
  grows: boolean,
): PreparedAttachments {
  const kept = attachments.map((file) => keepOne(deps, owner, file, grows, deps.newId("att")));
  return { attachments: kept.map(({ attachment }) => attachment), operations: kept.flatMap((one) => one.operations) };
}

/** The files of a message after it gained some. */
export interface GainedFiles {
  /** All files, those that came in the place where the record said that they are missing. */
  attachments: MessageAttachment[];
  /** The files that are new. */
  added: MessageAttachment[];
  operations: Operation[];
}

/** The files of a repeated report that a message does not have; null if there are none. A file that came keeps its `guid`. */
export function filesGained(
  deps: Attaching,
  owner: InboundOwner,
  before: readonly MessageAttachment[],
  reported: readonly InboundAttachment[],
): GainedFiles | null {
  // A provider that reports each message whole names no references.
  if (before.some(({ reference }) => reference === undefined)) return null;
  const known = new Map(before.map((one) => [one.reference, one]));
  const news = reported.filter(({ reference, missing }) => {
    const one = known.get(reference);
    return missing !== true && (one === undefined || one.missing === true);
  });
  if (news.length === 0) return null;
  const kept = news.map((file) =>
    keepOne(deps, owner, file, true, known.get(file.reference)?.guid ?? deps.newId("att")),
  );
  const added = kept.map(({ attachment }) => attachment);
  const byGuid = new Map(added.map((one) => [one.guid, one]));
  const attachments = [
    ...before.map((one) => byGuid.get(one.guid) ?? one),
    ...added.filter(({ reference }) => !known.has(reference)),
  ];
  return { attachments, added, operations: kept.flatMap(({ operations }) => operations) };
}

/** The message that received files belong to, and the instance that has their bytes. */
type InboundOwner = AttachmentOwner & { instanceId: InstanceId };

function keepOne(
  deps: Attaching,
  owner: InboundOwner,
  { reference, mimeType, filename, totalBytes, data, missing }: InboundAttachment,
  grows: boolean,
  id: Content["id"],
): { attachment: MessageAttachment; operations: Operation[] } {
  const said = grows ? { reference } : {};
  if (missing === true) {
    const nothing = { totalBytes: null, isAudioMessage: false, url: null, token: null };
    const attachment = { guid: id, mimeType, filename: filenameOf(filename), ...nothing, ...said, missing };
    return { attachment, operations: [] };
  }
  const content: Content = {
    ...keptBy(deps, owner),
    id,
    mimeType: typeOfReceived(data, mimeType),
    filename: filenameOf(filename),
    totalBytes: data === null ? totalBytes : data.length,
    data,
    instanceId: owner.instanceId,
    reference,
  };
  const operations: Operation[] = [{ op: "insert", table: "contents", record: content }];
  return { attachment: { ...named(deps, content, false), ...said }, operations };
}
