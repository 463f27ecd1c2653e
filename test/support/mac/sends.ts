/** Routes of the fake Mac that send: text, attachment, multipart, tapback, and the first message of a chat. */

import { randomUUID } from "node:crypto";
import type { AttachmentRow, ChatRow, Service } from "./chat-db.ts";
import { type Answer, badRequest, iMessageError, success, unhandled } from "./envelope.ts";
import { chatRecord, EVERYTHING, handleRecord, messageRecord } from "./records.ts";
import { type ApiRequest, count, type Inside, oneOf, optional, type Route, required } from "./route.ts";

const HEADLINE = "Message Send Error";
const METHODS = ["apple-script", "private-api"];
const REACTIONS = ["love", "like", "dislike", "laugh", "emphasize", "question"].flatMap((name) => [name, `-${name}`]);
/** A send with any of these fields uses the private API, whatever its `method`. */
const PRIVATE_FIELDS = ["subject", "effectId", "selectedMessageGuid", "ddScan", "attributedBody"];

export const SEND_ROUTES: readonly Route[] = [
  { method: "POST", path: "message/text", handle: sendText },
  { method: "POST", path: "message/attachment", handle: sendAttachment },
  { method: "POST", path: "attachment/upload", handle: upload },
  { method: "POST", path: "message/multipart", handle: sendParts },
  { method: "POST", path: "message/react", handle: react },
  { method: "POST", path: "chat/new", handle: newChat },
];

async function sendText(mac: Inside, { body }: ApiRequest): Promise<Answer> {
  const chatGuid = required(body, "chatGuid");
  if (!("message" in body)) throw badRequest("The message field must be present (but can be empty).");
  const text = optional(body, "message");
  const method = methodOf(body);
  const tempGuid = optional(body, "tempGuid") ?? undefined;
  if (method === "apple-script" && tempGuid === undefined) {
    throw badRequest("A 'tempGuid' is required when sending via AppleScript");
  }
  if (text === null && optional(body, "subject") === null) {
    if (method === "private-api") {
      throw badRequest("A 'message' or 'subject' is required when sending via the Private API");
    }
    throw badRequest("A 'message' is required when sending via AppleScript");
  }
  return await queued(mac, tempGuid, async () => {
    const chat = await chatOf(mac, chatGuid, method, HEADLINE, "send-message");
    const row = await mac.outbox.send({
      ...common(body),
      chat,
      service: serviceOf(chat),
      text,
      mentions: mentionsOf(body.attributedBody),
      ...(tempGuid === undefined ? {} : { tempGuid }),
      headline: HEADLINE,
    });
    return success(withTempGuid(messageRecord(row), tempGuid), "Message sent!");
  });
}

async function sendAttachment(mac: Inside, { body, file }: ApiRequest): Promise<Answer> {
  const chatGuid = required(body, "chatGuid");
  const name = required(body, "name");
  const tempGuid = optional(body, "tempGuid") ?? undefined;
  const method = body.isAudioMessage === "true" ? "private-api" : methodOf(body);
  if (method === "apple-script" && tempGuid === undefined) {
    throw badRequest("A 'tempGuid' is required when sending via AppleScript");
  }
  if (file === null || file.bytes.length === 0) throw badRequest("Attachment not provided or was empty!");
  return await queued(mac, tempGuid, async () => {
    const headline = "Attachment Send Error";
    const chat = await chatOf(mac, chatGuid, method, headline, "send-attachment");
    const attachment = mac.db.attach({
      transferName: name,
      mimeType: file.mimeType,
      bytes: file.bytes,
      isOutgoing: true,
    });
    const row = await mac.outbox.send({
      ...common(body),
      chat,
      service: serviceOf(chat),
      text: null,
      attachments: [attachment],
      isAudioMessage: body.isAudioMessage === "true",
      isUnchecked: true,
      headline,
    });
    return success(messageRecord(row), "Attachment sent!");
  });
}

async function upload(mac: Inside, { file }: ApiRequest): Promise<Answer> {
  if (!mac.privateApi.isOn || !mac.privateApi.isConnected) await mac.privateApi.command("upload");
  if (file === null || file.bytes.length === 0) throw badRequest("Attachment not provided or was empty!");
  const path = `${randomUUID()}/${file.name}`;
  const { name: transferName, mimeType, bytes } = file;
  mac.uploads.set(path, mac.db.attach({ transferName, mimeType, bytes, isOutgoing: true }));
  return success({ path });
}

async function sendParts(mac: Inside, { body }: ApiRequest): Promise<Answer> {
  const chatGuid = required(body, "chatGuid");
  const tempGuid = optional(body, "tempGuid") ?? undefined;
  const parts = Array.isArray(body.parts) ? (body.parts as Record<string, unknown>[]) : [];
  if (parts.length === 0) throw badRequest("The parts field is required.");
  const attachments = parts.flatMap((part) => attachmentOf(mac, part));
  return await queued(mac, tempGuid, async () => {
    const chat = await chatOf(mac, chatGuid, "private-api", HEADLINE, "send-multipart");
    const texts = parts.flatMap((part) => (typeof part.text === "string" ? [part.text] : []));
    const row = await mac.outbox.send({
      ...common(body),
      chat,
      service: serviceOf(chat),
      text: texts.length === 0 ? null : texts.join(""),
      attachments,
      mentions: parts.flatMap((part) => (typeof part.mention === "string" ? [part.mention] : [])),
      ...(tempGuid === undefined ? {} : { tempGuid }),
      headline: HEADLINE,
    });
    return success(withTempGuid(messageRecord(row), tempGuid), "Message sent!");
  });
}

function attachmentOf(mac: Inside, part: Record<string, unknown>): AttachmentRow[] {
  if (typeof part.partIndex !== "number") throw badRequest("The partIndex field is required.");
  if (part.attachment === undefined) return [];
  const found = mac.uploads.get(String(part.attachment));
  if (found === undefined) throw badRequest(`The attachment does not exist: ${String(part.attachment)}`);
  if (typeof part.name !== "string") throw badRequest("The name field is required.");
  return [{ ...found, transferName: part.name }];
}

async function react(mac: Inside, { body }: ApiRequest): Promise<Answer> {
  const chatGuid = required(body, "chatGuid");
  const target = required(body, "selectedMessageGuid");
  required(body, "reaction");
  const type = oneOf(body, "reaction", REACTIONS) ?? "";
  const message = mac.db.message(target);
  if (message === undefined) throw badRequest("Selected message does not exist!");
  const headline = "Reaction Send Error";
  const chat = await chatOf(mac, chatGuid, "private-api", headline, "send-reaction");
  const row = await mac.outbox.send({
    chat,
    service: serviceOf(chat),
    text: `${type} “${message.text ?? ""}”`,
    reaction: { type, target },
    isUnchecked: true,
    headline,
  });
  return success(messageRecord(row), "Reaction sent!");
}

async function newChat(mac: Inside, { body }: ApiRequest): Promise<Answer> {
  const addresses = Array.isArray(body.addresses) ? body.addresses.map(String) : [];
  if (addresses.length === 0) throw badRequest("The addresses field is required.");
  const method = oneOf(body, "method", METHODS) ?? "apple-script";
  const service: Service = oneOf(body, "service", ["iMessage", "SMS"]) === "SMS" ? "SMS" : "iMessage";
  const text = optional(body, "message");
  if (method !== "private-api") throw unhandled("Cannot create group chats on macOS Big Sur or newer!");
  if (text === null) throw unhandled("A message is required when creating chats with the Private API!");
  await mac.privateApi.command("create-chat", null);
  const tempGuid = optional(body, "tempGuid") ?? undefined;
  const [first = "", ...others] = addresses.map((address) => address.replaceAll(/[\s()-]/g, ""));
  // Messages has only one group with the same members.
  const chat =
    others.length === 0
      ? mac.db.direct(first, service)
      : (mac.db.groupOf([first, ...others]) ?? mac.db.group([first, ...others], "", service));
  const { effectId, subject } = common(body);
  const headline = "An unhandled error has occurred!";
  const row = await mac.outbox.send({ chat, service, text, effectId, subject, isUnchecked: true, headline });
  return success(
    {
      ...chatRecord(chat, false),
      participants: chat.participants.map(handleRecord),
      messages: [withTempGuid(messageRecord(row, { ...EVERYTHING, chats: false }), tempGuid)],
    },
    "Successfully created chat!",
  );
}

function methodOf(body: ApiRequest["body"]): string {
  const method = oneOf(body, "method", METHODS) ?? "apple-script";
  return PRIVATE_FIELDS.some((field) => body[field] !== undefined && body[field] !== null) ? "private-api" : method;
}

/** The chat to send to. The private API knows only existing chats, by their exact guid. */
async function chatOf(mac: Inside, guid: string, method: string, headline: string, action: string): Promise<ChatRow> {
  if (method === "apple-script") {
    mac.appleScripts.count += 1;
    const [service = "", sign, address = ""] = guid.split(";");
    const known = mac.db.chat(guid);
    if (known !== undefined && mac.release.macOs < 26) return known;
    if (sign === "-" && service !== "any") return mac.db.direct(address, service as Service);
    throw iMessageError(headline, "execution error: Messages got an error: Can’t get chat id. (-1728)");
  }
  await mac.privateApi.command(action, headline);
  // A send also ends typing.
  mac.typing.delete(guid);
  const chat = mac.db.chat(guid);
  if (chat === undefined || mac.faults.hits("chatNotInRegistry")) {
    throw iMessageError(headline, "Chat does not exist in IMChatRegistry!");
  }
  return chat;
}

/** Service of a chat: its own, or on macOS 26 that of the contact. */
function serviceOf(chat: ChatRow): Service {
  const [service = ""] = chat.guid.split(";");
  if (service === "SMS" || service === "RCS") return service;
  return service === "any" ? (chat.participants[0]?.service ?? "iMessage") : "iMessage";
}

function common(body: ApiRequest["body"]) {
  count(body, "partIndex", 0);
  return {
    subject: optional(body, "subject"),
    effectId: optional(body, "effectId"),
    replyTo: optional(body, "selectedMessageGuid"),
  };
}

/** Addresses mentioned in an attributed body. */
function mentionsOf(attributedBody: unknown): string[] {
  const runs = (attributedBody as { runs?: { attributes?: Record<string, unknown> }[] } | undefined)?.runs ?? [];
  return runs.flatMap(({ attributes }) => {
    const mentioned = attributes?.__kIMMentionConfirmedMention;
    return typeof mentioned === "string" ? [mentioned] : [];
  });
}

/** Runs a send. A second send with the same `tempGuid` is refused until the first has its response. */
async function queued(mac: Inside, tempGuid: string | undefined, send: () => Promise<Answer>): Promise<Answer> {
  if (tempGuid === undefined) return await send();
  if (mac.queued.has(tempGuid)) throw badRequest(`Message is already queued to be sent! (Temp GUID: ${tempGuid})`);
  mac.queued.add(tempGuid);
  try {
    return await send();
  } finally {
    mac.queued.delete(tempGuid);
  }
}

function withTempGuid<Record extends object>(record: Record, tempGuid: string | undefined): Record {
  return tempGuid === undefined ? record : { ...record, tempGuid };
}
