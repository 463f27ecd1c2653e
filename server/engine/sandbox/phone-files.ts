/** Files that the sandbox's phones send: checked like the files of a request to send, and fetched first. */

import type { AttachmentInput } from "../../../sdk/wire.ts";
import type { InboundAttachment } from "../../core/attachment.ts";
import { FILE_BYTES_MAX } from "../../core/attachment.ts";
import { ApiError, invalidField } from "../../core/error.ts";
import type { Release } from "../../core/fair-semaphore.ts";
import type { CustomerId } from "../../core/id.ts";
import { checkMedia, filenameOfUrl } from "../../core/media.ts";
import { attach } from "../attachments/attach.ts";
import type { With } from "../engine-deps.ts";

const RETRY_AFTER_SECONDS = 10;

/** The owner of the files. */
interface FilesOwner {
  customerId: CustomerId;
  /** Aborted when the client of the request has gone. */
  gone: AbortSignal;
}

/**
 * Sends the files, with their bytes, by `send`, and returns its result. Together they have 100 MiB at the most, and
 * until they are sent, fetched files count towards the memory limit of send attempts. Throws a 400 that names every
 * invalid field, a 503 for a file that cannot be fetched now, and the reason of `gone`: then no further file is fetched.
 */
export async function withPhoneFiles<Sent>(
  deps: With<"fetcher" | "signedLinks">,
  { customerId, gone }: FilesOwner,
  inputs: readonly AttachmentInput[],
  send: (files: InboundAttachment[]) => Promise<Sent>,
): Promise<Sent> {
  const { attachments, operations } = attach(deps, { customerId, messageId: deps.newId("msg") }, inputs);
  const kept = new Map(
    operations.flatMap((one) => (one.op === "insert" && one.table === "contents" ? [[one.record.id, one.record]] : [])),
  );
  const files: InboundAttachment[] = [];
  const releases: Release[] = [];
  let left = FILE_BYTES_MAX;
  try {
    for (const [index, { guid, url, mimeType, filename }] of attachments.entries()) {
      let data = kept.get(guid)?.data ?? null;
      if (url !== null) {
        gone.throwIfAborted();
        const got = await fetched(deps, { customerId, gone }, index, url, left);
        releases.push(got.release);
        data = judged(index, got.bytes, mimeType);
      }
      left -= data?.length ?? 0;
      const name = filename ?? (url === null ? null : filenameOfUrl(url));
      files.push({ reference: guid, mimeType, filename: name, totalBytes: data?.length ?? null, data });
    }
    return await send(files);
  } finally {
    for (const release of releases) release();
  }
}

async function fetched(
  { fetcher }: With<"fetcher">,
  { customerId: owner, gone }: FilesOwner,
  index: number,
  url: string,
  bytesMax: number,
) {
  const tooLarge =
    bytesMax === FILE_BYTES_MAX ? "is larger than 100 MiB" : "is, with the files before it, larger than 100 MiB";
  const got = await fetcher.fetch(url, { owner, bytesMax, tooLarge, abort: gone });
  const path = `attachments[${index}].url`;
  if ("bytes" in got) return got;
  gone.throwIfAborted();
  if ("refused" in got) throw invalidField(path, `${url} ${got.refused}`);
  throw new ApiError("SERVICE_UNAVAILABLE", `${path}: ${url} ${got.deferred}.`, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}

function judged(index: number, bytes: Uint8Array, mimeType: string | null): Uint8Array {
  const judgement = checkMedia(bytes, mimeType);
  if (!("refused" in judgement)) return bytes;
  const field = judgement.field === "data" ? "url" : judgement.field;
  throw invalidField(`attachments[${index}].${field}`, judgement.refused);
}
