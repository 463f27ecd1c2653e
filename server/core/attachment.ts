/** Attachments of a message, and the files stored for them. */

import type { Attachment } from "../../sdk/wire.ts";
import type { AttachmentId, CustomerId, InstanceId, MessageId } from "./id.ts";

/** Largest file, and largest sum of the files of one message, in bytes: 100 MiB. */
export const FILE_BYTES_MAX = 104_857_600;

/** An attachment in the record of its message. */
export interface MessageAttachment {
  guid: AttachmentId;
  mimeType: string | null;
  filename: string | null;
  totalBytes: number | null;
  isAudioMessage: boolean;
  /** The caller's HTTPS address of a file to send; null if its bytes are stored here. */
  url: string | null;
  /** Token of the download link; null if there is nothing to download. */
  token: string | null;
  /** The provider's reference of an inbound file whose message may still gain files; absent for any other. */
  reference?: string;
  /** The message names the file, which has not come. */
  missing?: true;
}

/** A file of an inbound message: its bytes or, if `data` is null, the reference to `fetch` them with. */
export interface InboundAttachment {
  /** The provider's own: the same file has the same in every report of its message. */
  reference: string;
  mimeType: string | null;
  filename: string | null;
  totalBytes: number | null;
  data: Uint8Array | null;
  /** The message names the file, and the provider does not have it yet. */
  missing?: true;
}

/** Builds the download address of a token; null if the token has expired. */
export type LinkBuilder = (token: string) => string | null;

/** The record as the API answers it. */
export function attachmentRecord(attachment: MessageAttachment, link: LinkBuilder): Attachment {
  const { guid, mimeType, filename, totalBytes, token, missing } = attachment;
  const downloadUrl = token === null ? null : link(token);
  return { guid, mimeType, filename, totalBytes, downloadUrl, ...(missing === true ? { missing } : {}) };
}

/** A file stored here or at its provider, for as long as events mention it. */
export interface Content {
  id: AttachmentId;
  customerId: CustomerId;
  messageId: MessageId;
  mimeType: string;
  filename: string | null;
  totalBytes: number | null;
  /** The bytes; null while only the provider has them. */
  data: Uint8Array | null;
  /** The instance that has the file, and the reference of the provider. */
  instanceId: InstanceId | null;
  reference: string | null;
  createdAt: number;
}
