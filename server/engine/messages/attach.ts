/** Files of messages: taken in with a request, kept as they arrive, and gathered for the hand-over. */

import type { AttachmentInput, ErrorDetail } from "../../../sdk/wire.ts";
import { checkAddress } from "../../core/address.ts";
import type { Content, MessageAttachment } from "../../core/attachment.ts";
import { invalidFields } from "../../core/error.ts";
import type { AttachmentId, CustomerId, InstanceId, MessageId } from "../../core/id.ts";
import {
  defaultFilename,
  filenameOf,
  filenameOfUrl,
  isAudio,
  isImage,
  judgeMedia,
  mimeTypeOf,
  refuseType,
  typeOfReceived,
} from "../../core/media.ts";
import type { Message } from "../../core/message.ts";
import type { InboundAttachment, OutboundAttachment } from "../../providers/provider.ts";
import { findContentHead, readContent } from "../../store/contents.ts";
import type { Operation } from "../../store/store.ts";
import type { Context } from "../context.ts";

/** Largest file, and largest sum of the files of one message, in bytes: 100 MiB (contract 3). */
export const FILE_BYTES_MAX = 104_857_600;
/** All files of a message are gathered within this time, in real milliseconds: less than the lease of the message. */
const GATHER_MS_MAX = 35_000;

/** Details of one refusal (contract 1). */
const DETAILS_MAX = 100;

/** The message that files belong to. */
export interface Owner {
  customerId: CustomerId;
  messageId: MessageId;
}

/** Files as their message knows them, and what keeps their bytes: goes into the message's unit. */
export interface Attached {
  attachments: MessageAttachment[];
  operations: Operation[];
}

/** What taking files in needs of the context. */
type Attaching = Pick<Context, "clock" | "newId" | "settings" | "links">;

/**
 * Takes in the files of a request to send: bytes are kept, addresses are fetched from at the hand-over. Throws a 400
 * that names every field which does not fit (`attachments[0].data`, `.mimeType`, `.url`).
 */
export function attach(context: Attaching, owner: Owner, inputs: readonly AttachmentInput[]): Attached {
  const details: ErrorDetail[] = [];
  const attached: Attached = { attachments: [], operations: [] };
  for (const [index, input] of inputs.entries()) {
    const refuse = (field: string, message: string) => {
      details.push({ path: `attachments[${index}].${field}`, message });
      return null;
    };
    const attachment = input.type === "url" ? fromUrl(context, input, refuse) : null;
    if (attachment !== null) attached.attachments.push(attachment);
    const content = input.type === "base64" ? fromBase64(context, owner, input, refuse) : null;
    if (content === null) continue;
    attached.operations.push({ op: "insert", table: "contents", record: content });
    attached.attachments.push(named(context, content, input.isAudioMessage ?? false));
  }
  if (details.length > 0) throw invalidFields(details.slice(0, DETAILS_MAX));
  return attached;
}

type Refuse = (field: string, message: string) => null;

function fromUrl(context: Attaching, input: AttachmentInput, refuse: Refuse): MessageAttachment | null {
  const { url, data, mimeType = null, isAudioMessage = false } = input;
  if (data !== undefined) return refuse("data", "must be left out with the type url");
  if (url === undefined) return refuse("url", "is required with the type url");
  const problem = checkAddress(url, context.settings.fetchAllow, "TB_FETCH_ALLOW");
  if (problem !== null) return refuse("url", problem);
  const unfit = mimeType === null ? null : refuseType(mimeType);
  if (unfit !== null) return refuse("mimeType", unfit);
  const type = mimeType === null ? null : mimeTypeOf(mimeType);
  if (isAudioMessage && type !== null && !isAudio(type)) return refuse("isAudioMessage", notAudio(type));
  return {
    guid: context.newId("att"),
    mimeType: type,
    filename: filenameOf(input.filename ?? null),
    totalBytes: null,
    isAudioMessage,
    url,
    token: null,
  };
}

function fromBase64(context: Attaching, owner: Owner, input: AttachmentInput, refuse: Refuse): Content | null {
  const { url, data, mimeType = null, isAudioMessage = false } = input;
  if (url !== undefined) return refuse("url", "must be left out with the type base64");
  if (data === undefined) return refuse("data", "is required with the type base64");
  const bytes = decodeBase64(data);
  if (bytes === null) {
    const hint = data.startsWith("data:") ? "; leave out what stands before the comma" : "";
    return refuse("data", `must be base64 (RFC 4648, 4) with its padding and without line breaks${hint}`);
  }
  const judged = judgeMedia(bytes, mimeType);
  if ("refused" in judged) return refuse(judged.field, judged.refused);
  if (isAudioMessage && !isAudio(judged.mimeType)) return refuse("isAudioMessage", notAudio(judged.mimeType));
  return {
    ...keptBy(context, owner),
    mimeType: judged.mimeType,
    filename: filenameOf(input.filename ?? null),
    totalBytes: bytes.length,
    data: bytes,
    instanceId: null,
    reference: null,
  };
}

function notAudio(mimeType: string): string {
  return `is true, but the file is ${mimeType}; only audio can be sent as an audio message`;
}

/** The bytes of exactly what an encoder writes; null for anything else. */
function decodeBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : null;
}

function keptBy({ newId, clock }: Attaching, { customerId, messageId }: Owner) {
  return { id: newId("att"), customerId, messageId, createdAt: clock.real() };
}

/** A kept file as its message knows it, with a link that lasts as long as the events of this moment. */
function named(context: Attaching, content: Content, isAudioMessage: boolean): MessageAttachment {
  const { id: guid, mimeType, filename, totalBytes, createdAt } = content;
  const token = context.links.token(guid, createdAt, context.settings.retentionMs);
  return { guid, mimeType, filename, totalBytes, isAudioMessage, url: null, token };
}

/**
 * Keeps the files that came with a message of a contact: their bytes where the provider gave them, else where it has
 * them. Refuses nothing: whatever a contact sent is served as a download.
 */
export function keepInbound(
  context: Attaching,
  owner: Owner & { instanceId: InstanceId },
  attachments: readonly InboundAttachment[],
): Attached {
  const contents = attachments.map(
    ({ reference, mimeType, filename, totalBytes, data }): Content => ({
      ...keptBy(context, owner),
      mimeType: typeOfReceived(data, mimeType),
      filename: filenameOf(filename),
      totalBytes: data === null ? totalBytes : data.length,
      data,
      instanceId: owner.instanceId,
      reference,
    }),
  );
  return {
    attachments: contents.map((content) => named(context, content, false)),
    operations: contents.map((record) => ({ op: "insert", table: "contents", record })),
  };
}

/**
 * The files of a message, ready to be handed over. `release` gives their memory back: to be called once, when the
 * hand-over has ended. `refused`: it can never be sent, in words for its sender. `deferred`: later it may be.
 */
export type Loaded = { loaded: OutboundAttachment[]; release(): void } | { refused: string } | { deferred: string };

/** A file of a message: where it comes from, and what it must be. */
interface Part {
  /** As the request named it. */
  path: string;
  url: string | null;
  /** Where others get it: its own address, or our link; null where there is neither. */
  link: string | null;
  id: AttachmentId | null;
  mimeType: string | null;
  filename: string | null;
  isImage: boolean;
  isAudioMessage: boolean;
}

/** Gathers the files of a message, media first, one after the other, within 35 s. `abort` calls it off: deferred. */
export async function loadAttachments(context: Context, message: Message, abort: AbortSignal): Promise<Loaded> {
  const gathering = new AbortController();
  let isLate = false;
  const stop = () => gathering.abort();
  const stopTimer = context.clock.after(GATHER_MS_MAX, () => {
    isLate = true;
    stop();
  });
  abort.addEventListener("abort", stop, { once: true });
  if (abort.aborted) stop();
  try {
    const gathered = await gather(context, partsOf(context, message), gathering.signal);
    if (!("deferred" in gathered) || !isLate) return gathered;
    return { deferred: `the files were not fetched within ${GATHER_MS_MAX / 1_000} s` };
  } finally {
    stopTimer();
    abort.removeEventListener("abort", stop);
  }
}

function partsOf({ link }: Pick<Context, "link">, { mediaUrls, attachments }: Message): Part[] {
  const media = mediaUrls.map((url, index): Part => {
    const path = `content.mediaUrls[${index}]`;
    const none = { id: null, mimeType: null, filename: null };
    return { path, url, link: url, ...none, isImage: true, isAudioMessage: false };
  });
  const files = attachments.map(({ guid, url, token, mimeType, filename, isAudioMessage }, index): Part => {
    const path = `attachments[${index}]`;
    const id = url === null ? guid : null;
    const address = url ?? (token === null ? null : link(token));
    return { path, url, link: address, id, mimeType, filename, isImage: false, isAudioMessage };
  });
  return [...media, ...files];
}

type Got = { bytes: Uint8Array; held: number } | { refused: string } | { deferred: string };

async function gather(context: Context, parts: readonly Part[], abort: AbortSignal): Promise<Loaded> {
  const loaded: OutboundAttachment[] = [];
  let held = 0;
  let isReleased = false;
  const release = () => {
    if (!isReleased) context.fetcher.give(held);
    isReleased = true;
  };
  let left = FILE_BYTES_MAX;
  for (const part of parts) {
    const got = await getPart(context, part, left, abort);
    if (!("bytes" in got)) {
      release();
      return "refused" in got
        ? { refused: `${part.path}: ${part.url ?? "the file"} ${got.refused}.` }
        : { deferred: `${part.path} ${got.deferred}` };
    }
    held += got.held;
    left -= got.bytes.length;
    const fitted = fit(part, got.bytes, loaded.length + 1);
    if ("refused" in fitted) {
      release();
      return fitted;
    }
    loaded.push(fitted);
  }
  return { loaded, release };
}

function getPart(context: Context, part: Part, left: number, abort: AbortSignal): Promise<Got> {
  if (part.url === null) return readKept(context, part.id);
  const tooLarge =
    left === FILE_BYTES_MAX ? "is larger than 100 MiB" : "is, with the files before it, larger than 100 MiB";
  return context.fetcher.fetch(part.url, { bytesMax: left, tooLarge, abort });
}

async function readKept({ store, fetcher }: Context, id: AttachmentId | null): Promise<Got> {
  const head = id === null ? null : await findContentHead(store.db, id);
  if (head === null || !head.isHere) return { refused: "is no longer kept here" };
  const held = head.totalBytes ?? 0;
  if (!fetcher.take(held)) return { deferred: "was not read: too many large files are under way" };
  const bytes = await readContent(store.db, head.id);
  if (bytes !== null) return { bytes, held };
  fetcher.give(held);
  return { refused: "is no longer kept here" };
}

/** The file as it is handed over, or why it cannot be: it is judged by its bytes, whatever its server says of it. */
function fit(part: Part, bytes: Uint8Array, number: number): OutboundAttachment | { refused: string } {
  const { path, url } = part;
  const refuse = (field: string, reason: string) => ({ refused: `${path}${field} ${reason}.` });
  const judged = judgeMedia(bytes, part.mimeType);
  if ("refused" in judged) {
    return refuse(judged.field === "mimeType" ? ".mimeType" : `: ${url ?? "the file"}`, judged.refused);
  }
  const { mimeType } = judged;
  if (part.isImage && !isImage(mimeType)) return refuse(`: ${url}`, `is no image: by its content it is ${mimeType}`);
  if (part.isAudioMessage && !isAudio(mimeType)) return refuse(".isAudioMessage", notAudio(mimeType));
  const ofUrl = url === null ? null : filenameOfUrl(url);
  const filename = part.filename ?? ofUrl ?? defaultFilename(mimeType, number);
  const where = part.link === null ? {} : { url: part.link };
  return { mimeType, filename, bytes, isAudioMessage: part.isAudioMessage, ...where };
}
