/** Prepares the one request that carries a message into a chat that there is: its form, and its files on the Mac. */

import { recordOf, textOf } from "../../core/loose-json.ts";
import type { Outbound, Outcome } from "../provider.ts";
import type { MacAttempt } from "./attempt-journal.ts";
import {
  audioFields,
  filenameOf,
  fileParts,
  isVoice,
  type MessagePart,
  partsBody,
  textBody,
  textParts,
} from "./body.ts";
import { describeFailure, type Failure, type MacResponse, SEND_LIMIT_MS } from "./client.ts";
import type { Mac } from "./mac.ts";
import { classifyFailure, deferred, outcomeOfFailure } from "./outcomes.ts";

/** All files of a message together: nothing of it is sent before they are there. */
const UPLOADS_LIMIT_MS = 240_000;

/** What one request carries, and to which chat; null begins one. */
export interface SendRequest extends Pick<MacAttempt, "step" | "files" | "chatGuid"> {
  post: () => Promise<MacResponse>;
}

/**
 * The request of a message, with text and files in one so that it has one guid; or of its files alone, where its text
 * went before. A voice message and a plain text have requests of their own.
 */
export async function buildSendRequest(
  mac: Mac,
  message: Outbound,
  chatGuid: string,
  isTextGone: boolean,
): Promise<SendRequest | Outcome> {
  const { client } = mac;
  const { attachments, mentions, text } = message;
  const files = attachments.length;
  const step = isTextGone ? "files" : "whole";
  const [first] = attachments;
  if (first !== undefined && isVoice(message)) {
    const { mimeType, bytes } = first;
    const filename = filenameOf(first);
    const upload = { fields: audioFields(message, chatGuid, filename), filename, mimeType, bytes };
    const post = () => client.upload("/message/attachment", upload, { limitMs: SEND_LIMIT_MS });
    return { step, files, chatGuid, post };
  }
  const words: MessagePart[] = isTextGone ? [] : textParts(text, mentions);
  if (files === 0 && words.every(({ mention }) => mention === undefined)) {
    return { step, files, chatGuid, post: () => client.post("/message/text", textBody(message, chatGuid)) };
  }
  const uploaded = await upload(mac, message);
  if ("outcome" in uploaded) return uploaded;
  const parts = [...words, ...fileParts(uploaded.files, words.length > 0)];
  const post = () => client.post("/message/multipart", partsBody(message, chatGuid, parts));
  return { step, files, chatGuid, post };
}

/** Brings the files to the Mac: nothing is sent by that, so that it may be done again. */
async function upload(
  mac: Mac,
  { attachments }: Outbound,
): Promise<{ files: { path: string; name: string }[] } | Outcome> {
  const { client, context } = mac;
  const endsAt = context.clock.real() + UPLOADS_LIMIT_MS;
  const files: { path: string; name: string }[] = [];
  for (const file of attachments) {
    const name = filenameOf(file);
    const { mimeType, bytes } = file;
    const limitMs = Math.max(1, endsAt - context.clock.real());
    const form = { fields: {}, filename: name, mimeType, bytes };
    const answer = await client.upload("/attachment/upload", form, { limitMs });
    if (answer.kind !== "ok") return notUploaded(mac, answer);
    const path = textOf(recordOf(answer.data)?.path);
    if (path === null) return deferred("the Mac did not say where it put a file");
    files.push({ path, name });
  }
  return { files };
}

function notUploaded({ health }: Mac, failure: Failure): Outcome {
  const meaning = classifyFailure(failure);
  if (meaning === "notAttempted") health.reportDown(failure);
  if (meaning === "notAttempted" || meaning === "refused") return outcomeOfFailure(failure, meaning);
  return deferred(`a file could not be brought to the Mac: ${describeFailure(failure)}`);
}
