/** Gathers the files of a message for its send attempt: fetches URLs, and reads stored files. */

import { FILE_BYTES_MAX } from "../../core/attachment.ts";
import type { Release } from "../../core/fair-semaphore.ts";
import type { AttachmentId, CustomerId } from "../../core/id.ts";
import { checkMedia, defaultFilename, filenameOfUrl, isAudio, isImage, notAudio } from "../../core/media.ts";
import type { Message } from "../../core/message.ts";
import { carriedFiles } from "../../core/message-files.ts";
import type { OutboundAttachment } from "../../providers/provider.ts";
import { findContentHead, readContent } from "../../store/contents.ts";
import type { EngineDeps, With } from "../engine-deps.ts";

/** All files of a message are gathered within this time, in real milliseconds: less than the lease of the message. */
const GATHER_MS_MAX = 35_000;

/**
 * The files of a message, ready to be sent. Call `release` once, after the send attempt, to free their memory.
 * `refused`: why the message can never be sent, in words for its sender. `deferred`: why it has to wait.
 */
export type GatheredFiles =
  | { loaded: OutboundAttachment[]; release(): void }
  | { refused: string }
  | { deferred: string };

/** A file of a message: its source, and the required type. */
interface FilePart {
  /** Its name in the request. */
  path: string;
  url: string | null;
  /** The address from which recipients download it: its own URL, or our link; null if it has neither. */
  link: string | null;
  id: AttachmentId | null;
  mimeType: string | null;
  filename: string | null;
  isImage: boolean;
  isAudioMessage: boolean;
}

/**
 * Gathers the files of a message that its channel carries in sequence, media first, within 35 s. If `abort` is aborted, the result is
 * `deferred`.
 */
export async function gatherAttachments(
  deps: With<"fetcher" | "link">,
  message: Message,
  abort: AbortSignal,
): Promise<GatheredFiles> {
  const gathering = new AbortController();
  let isLate = false;
  const stop = () => gathering.abort();
  const stopTimer = deps.clock.after(GATHER_MS_MAX, () => {
    isLate = true;
    stop();
  });
  abort.addEventListener("abort", stop, { once: true });
  if (abort.aborted) stop();
  try {
    const gathered = await gather(deps, message.customerId, partsOf(deps, message), gathering.signal);
    if (!("deferred" in gathered) || !isLate) return gathered;
    return { deferred: `the files were not fetched within ${GATHER_MS_MAX / 1_000} s` };
  } finally {
    stopTimer();
    abort.removeEventListener("abort", stop);
  }
}

function partsOf({ link }: Pick<EngineDeps, "link">, message: Message): FilePart[] {
  const { mediaUrls, attachments } = carriedFiles(message);
  const media = mediaUrls.map((url, index): FilePart => {
    const path = `content.mediaUrls[${index}]`;
    const none = { id: null, mimeType: null, filename: null };
    return { path, url, link: url, ...none, isImage: true, isAudioMessage: false };
  });
  const files = attachments.map(({ guid, url, token, mimeType, filename, isAudioMessage }, index): FilePart => {
    const path = `attachments[${index}]`;
    const id = url === null ? guid : null;
    const address = url ?? (token === null ? null : link(token));
    return { path, url, link: address, id, mimeType, filename, isImage: false, isAudioMessage };
  });
  return [...media, ...files];
}

type FetchedPart = { bytes: Uint8Array; release: Release } | { refused: string } | { deferred: string };

async function gather(
  deps: With<"fetcher">,
  owner: CustomerId,
  parts: readonly FilePart[],
  abort: AbortSignal,
): Promise<GatheredFiles> {
  const loaded: OutboundAttachment[] = [];
  const releases: Release[] = [];
  const release = () => {
    for (const one of releases.splice(0)) one();
  };
  let left = FILE_BYTES_MAX;
  for (const part of parts) {
    const got = await getPart(deps, owner, part, left, abort);
    if (!("bytes" in got)) {
      release();
      return "refused" in got
        ? { refused: `${part.path}: ${part.url ?? "the file"} ${got.refused}.` }
        : { deferred: `${part.path} ${got.deferred}` };
    }
    releases.push(got.release);
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

function getPart(
  deps: With<"fetcher">,
  owner: CustomerId,
  part: FilePart,
  left: number,
  abort: AbortSignal,
): Promise<FetchedPart> {
  if (part.url === null) return readKept(deps, owner, part.id);
  const tooLarge =
    left === FILE_BYTES_MAX ? "is larger than 100 MiB" : "is, with the files before it, larger than 100 MiB";
  return deps.fetcher.fetch(part.url, { owner, bytesMax: left, tooLarge, abort });
}

async function readKept(
  { store, fetcher }: With<"fetcher">,
  owner: CustomerId,
  id: AttachmentId | null,
): Promise<FetchedPart> {
  const head = id === null ? null : await findContentHead(store.db, id);
  if (head === null || !head.isHere) return { refused: "is no longer kept here" };
  const release = fetcher.hold(owner, head.totalBytes ?? 0);
  if (release === null) return { deferred: "was not read: too many large files are under way" };
  const bytes = await readContent(store.db, head.id);
  if (bytes !== null) return { bytes, release };
  release();
  return { refused: "is no longer kept here" };
}

/** The file to send, or why it cannot be sent. Its bytes decide its type, not the header of its server. */
function fit(part: FilePart, bytes: Uint8Array, number: number): OutboundAttachment | { refused: string } {
  const { path, url } = part;
  const refuse = (field: string, reason: string) => ({ refused: `${path}${field} ${reason}.` });
  const judged = checkMedia(bytes, part.mimeType);
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
