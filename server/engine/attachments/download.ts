/** Finds a file by the token of its link, and reads it from the store or fetches it from its provider. */

import { FILE_BYTES_MAX } from "../../core/attachment.ts";
import { ApiError } from "../../core/error.ts";
import { typeOfReceived } from "../../core/media.ts";
import { type ContentHead, findContentHead, readContent } from "../../store/contents.ts";
import { runAction } from "../action.ts";
import type { With } from "../engine-deps.ts";

/** The file that a token opens. Throws 404 `NOT_FOUND`, the same for every reason. */
export async function findDownload(deps: With<"signedLinks">, token: string): Promise<ContentHead> {
  const id = deps.signedLinks.open(token, deps.clock.real());
  const head = id === null ? null : await findContentHead(deps.store.db, id);
  if (head === null || (!head.isHere && head.reference === null)) throw gone();
  return head;
}

/**
 * The bytes of a file and the type of its content. A file that only its provider has is fetched each time and not
 * stored. Throws 404 if the file is gone, and 502, 503 or 504 if its provider cannot be asked.
 */
export async function readDownload(
  deps: With<"providers">,
  head: ContentHead,
): Promise<{ bytes: Uint8Array; mimeType: string }> {
  const bytes = head.isHere ? await readContent(deps.store.db, head.id) : await fetchFrom(deps, head);
  if (bytes === null) throw gone();
  return { bytes, mimeType: typeOfReceived(bytes, head.mimeType) };
}

async function fetchFrom(deps: With<"providers">, { instanceId, reference }: ContentHead): Promise<Uint8Array | null> {
  if (instanceId === null || reference === null) return null;
  const bytes = await runAction(deps, instanceId, "fetch", (fetch, abort) => fetch(reference, abort)).catch(
    (error: unknown) => {
      if (error instanceof ApiError && error.code === "CHANNEL_NOT_SUPPORTED") return null;
      throw error;
    },
  );
  if (bytes !== null && bytes.length > FILE_BYTES_MAX) {
    throw new ApiError("PROVIDER_ERROR", "The provider has a file at this address that is larger than 100 MiB.");
  }
  return bytes;
}

function gone(): ApiError {
  return new ApiError("NOT_FOUND", "There is no file at this address, or it is no longer kept.");
}
