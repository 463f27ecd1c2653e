/** Builds the one request that sends a message into an existing chat, and uploads the message's files for it. */

import { recordOf, textOf } from "../../core/loose-json.ts";
import type { Outbound, Outcome } from "../provider.ts";
import type { MacAttempt } from "./attempt-note.ts";
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

/** Time limit for uploading all files of a message. Nothing is sent before. */
const UPLOADS_LIMIT_MS = 240_000;

/** A request, with what the note says of it. `chatGuid` is null if the request begins a chat. */
export interface SendRequest extends Pick<MacAttempt, "step" | "files" | "chatGuid"> {
  post: () => Promise<MacResponse>;
}

/**
 * Builds the request of a message. Text and files share one request, so that the message has one guid; if the text was sent
 * before, the request has the files only. Voice messages and plain texts have routes of their own.
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

/** Uploads the files. Uploading sends nothing, so it may be repeated. */
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
    const response = await client.upload("/attachment/upload", form, { limitMs });
    if (response.kind !== "ok") return notUploaded(mac, response);
    const path = textOf(recordOf(response.data)?.path);
    if (path === null) return deferred("the Mac did not return the path of an uploaded file");
    files.push({ path, name });
  }
  return { files };
}

function notUploaded({ health }: Mac, failure: Failure): Outcome {
  const failureClass = classifyFailure(failure);
  if (failureClass === "notAttempted") health.reportDown(failure);
  if (failureClass === "notAttempted" || failureClass === "refused") return outcomeOfFailure(failure, failureClass);
  return deferred(`a file could not be uploaded to the Mac: ${describeFailure(failure)}`);
}
