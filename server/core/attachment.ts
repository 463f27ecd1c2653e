/** Attachments: what a message says of its files, and the files that are kept here. */

import type { Attachment } from "../../sdk/wire.ts";
import type { AttachmentId, CustomerId, InstanceId, MessageId } from "./id.ts";

/** Largest file, and largest sum of the files of one message, in bytes: 100 MiB. */
export const FILE_BYTES_MAX = 104_857_600;

/** A file as the message that it belongs to knows it. */
export interface MessageAttachment {
  guid: AttachmentId;
  mimeType: string | null;
  filename: string | null;
  totalBytes: number | null;
  isAudioMessage: boolean;
  /** The caller's HTTPS address of a file to send; null where its bytes are kept here. */
  url: string | null;
  /** Of the download link; null where there is nothing to download. */
  token: string | null;
}

/** A file of an inbound message: its bytes or, if `data` is null, the reference to `fetch` them with. */
export interface InboundAttachment {
  reference: string;
  mimeType: string | null;
  filename: string | null;
  totalBytes: number | null;
  data: Uint8Array | null;
}

/** Makes the address of what a token opens; null when the token's time is over. */
export type LinkBuilder = (token: string) => string | null;

/** The record as the API answers it. */
export function attachmentRecord(attachment: MessageAttachment, link: LinkBuilder): Attachment {
  const { guid, mimeType, filename, totalBytes, token } = attachment;
  return { guid, mimeType, filename, totalBytes, downloadUrl: token === null ? null : link(token) };
}

/** A file that is kept here or at its provider, for as long as the events that name it. */
export interface Content {
  id: AttachmentId;
  customerId: CustomerId;
  messageId: MessageId;
  mimeType: string;
  filename: string | null;
  totalBytes: number | null;
  /** The bytes; null where the provider still has them. */
  data: Uint8Array | null;
  /** Where the provider has it: its instance, and its own name of the file. */
  instanceId: InstanceId | null;
  reference: string | null;
  createdAt: number;
}
