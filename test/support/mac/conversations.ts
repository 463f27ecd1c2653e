/** Routes of the fake Mac for chats and handles: queries, read marks, typing, changes of groups, and iMessage and FaceTime availability. */

import type { ChatRow } from "./chat-db.ts";
import { type Answer, badRequest, iMessageError, notFound, success, unhandled } from "./envelope.ts";
import { chatRecord, EVERYTHING, handleRecord, messageRecord } from "./records.ts";
import { type ApiRequest, type Inside, names, type Route, required } from "./route.ts";

export const CONVERSATION_ROUTES: readonly Route[] = [
  { method: "GET", path: "chat/:guid", handle: find },
  { method: "PUT", path: "chat/:guid", handle: rename },
  { method: "POST", path: "chat/:guid/typing", handle: startTyping },
  { method: "DELETE", path: "chat/:guid/typing", handle: stopTyping },
  { method: "POST", path: "chat/:guid/read", handle: (mac, request) => mark(mac, request, true) },
  { method: "POST", path: "chat/:guid/unread", handle: (mac, request) => mark(mac, request, false) },
  { method: "POST", path: "chat/:guid/participant", handle: add },
  { method: "POST", path: "chat/:guid/participant/add", handle: add },
  { method: "DELETE", path: "chat/:guid/participant", handle: remove },
  { method: "POST", path: "chat/:guid/participant/remove", handle: remove },
  { method: "POST", path: "chat/:guid/leave", handle: leave },
  { method: "POST", path: "handle/query", handle: queryHandles },
  { method: "GET", path: "handle/availability/imessage", handle: onIMessage },
  { method: "GET", path: "handle/availability/facetime", handle: onFaceTime },
  { method: "GET", path: "handle/:address/focus", handle: focus },
  { method: "GET", path: "handle/:address", handle: findHandle },
];

function find(mac: Inside, { params: [guid = ""], query }: ApiRequest): Answer {
  const chat = chatOf(mac, guid);
  const wanted = names(query.get("with")).map((name) => name.trim().toLowerCase());
  const last = mac.db.messages.findLast((row) => row.chat === chat);
  const lastMessage = last === undefined ? null : messageRecord(last, { ...EVERYTHING, chats: false });
  return success({
    ...chatRecord(chat, wanted.includes("participants")),
    ...(wanted.includes("lastmessage") ? { lastMessage } : {}),
  });
}

async function rename(mac: Inside, { params: [guid = ""], body }: ApiRequest): Promise<Answer> {
  const chat = chatOf(mac, guid);
  const name = typeof body.displayName === "string" ? body.displayName : "";
  const data = () => chatRecord(chat, true);
  if (name === "") return success(data(), "Chat not updated! No update information provided!");
  if (chat.participants.length <= 1) throw iMessageError("Cannot rename a non-group chat!", "Chat is not a group");
  if (chat.displayName !== name) {
    await mac.privateApi.command("set-display-name", "Chat update executed with errors!");
    chat.displayName = name;
    own(mac, "group-name-change", chat, { itemType: 2, groupTitle: name });
  }
  return success(data(), "Successfully updated the following fields: displayName");
}

async function startTyping(mac: Inside, { params: [guid = ""] }: ApiRequest): Promise<Answer> {
  await mac.privateApi.command("start-typing");
  mac.typing.add(guid);
  return success(undefined, "Successfully started typing!");
}

/** In released versions this route starts typing instead of stopping it. */
async function stopTyping(mac: Inside, { params: [guid = ""] }: ApiRequest): Promise<Answer> {
  const isMended = mac.release.version === "development";
  await mac.privateApi.command(isMended ? "stop-typing" : "start-typing");
  if (isMended) mac.typing.delete(guid);
  else mac.typing.add(guid);
  return success(undefined, "Successfully stopped typing!");
}

async function mark(mac: Inside, { params: [chatGuid = ""] }: ApiRequest, read: boolean): Promise<Answer> {
  await mac.privateApi.command(read ? "mark-chat-read" : "mark-chat-unread");
  mac.read.set(chatGuid, read);
  mac.events.emit("chat-read-status-changed", { chatGuid, read });
  return success(undefined, `Successfully marked chat as ${read ? "read" : "unread"}!`);
}

async function add(mac: Inside, { params: [guid = ""], body }: ApiRequest): Promise<Answer> {
  const address = required(body, "address");
  const chat = groupOf(mac, guid);
  await mac.privateApi.command("add-participant");
  if (!mac.phone(address).isOnIMessage || chat.participants.some((handle) => handle.address === address)) {
    throw unhandled("Failed to add participant to chat! Operation took longer than 5 seconds!");
  }
  const handle = mac.db.handle(address, "iMessage");
  chat.participants.push(handle);
  own(mac, "participant-added", chat, { itemType: 1, otherHandle: handle.rowId });
  return success(chatRecord(chat, true));
}

async function remove(mac: Inside, { params: [guid = ""], body }: ApiRequest): Promise<Answer> {
  const address = required(body, "address");
  const chat = groupOf(mac, guid);
  await mac.privateApi.command("remove-participant");
  const handle = chat.participants.find((one) => one.address === address);
  if (handle === undefined) {
    throw unhandled("Failed to remove participant to chat! Operation took longer than 5 seconds!");
  }
  chat.participants = chat.participants.filter((one) => one !== handle);
  own(mac, "participant-removed", chat, { itemType: 1, groupActionType: 1, otherHandle: handle.rowId });
  return success(chatRecord(chat, true));
}

async function leave(mac: Inside, { params: [guid = ""] }: ApiRequest): Promise<Answer> {
  const chat = mac.db.chat(guid);
  await mac.privateApi.command("leave-chat");
  if (chat !== undefined) own(mac, "participant-left", chat, { itemType: 3 });
  return success(undefined, "Successfully left chat!");
}

function queryHandles({ db }: Inside, { body }: ApiRequest): Answer {
  if (body.offset === undefined)
    throw unhandled('Provided "skip" value is not a number. Please provide a numeric value.');
  const offset = Number(body.offset);
  const limit = Number(body.limit ?? 100);
  const found = db.handles.filter(({ address }) => body.address === undefined || address === body.address);
  const withChats = names(body.with).some((name) => ["chat", "chats"].includes(name.toLowerCase()));
  const page = found.slice(offset, offset + limit).map((handle) => ({
    ...handleRecord(handle),
    ...(withChats
      ? { chats: db.chats.filter((chat) => chat.participants.includes(handle)).map((chat) => chatRecord(chat, false)) }
      : {}),
  }));
  return success(page, "Success", { total: found.length, offset, limit, count: page.length });
}

function findHandle({ db }: Inside, { params: [address = ""] }: ApiRequest): Answer {
  const handle = db.handles.find((one) => one.address === address);
  if (handle === undefined) throw notFound("Handle does not exist!");
  return success(handleRecord(handle));
}

async function focus(mac: Inside, { params: [address = ""] }: ApiRequest): Promise<Answer> {
  if (mac.db.handles.every((one) => one.address !== address)) throw notFound("Handle not found!");
  await mac.privateApi.command("check-focus-status");
  return success({ status: mac.phone(address).focus });
}

async function onIMessage(mac: Inside, { query }: ApiRequest): Promise<Answer> {
  const address = query.get("address") ?? "";
  if (address === "") throw badRequest("The address field is required.");
  await mac.privateApi.command("check-imessage-availability");
  return success({ available: mac.phone(address).isOnIMessage && !mac.faults.hits("availabilityFalse") });
}

async function onFaceTime(mac: Inside, { query }: ApiRequest): Promise<Answer> {
  const address = query.get("address") ?? "";
  if (address === "") throw badRequest("The address field is required.");
  await mac.privateApi.command("check-facetime-availability", null);
  return success({ available: mac.phone(address).hasFaceTime });
}

function chatOf({ db }: Inside, guid: string): ChatRow {
  const chat = db.chat(guid);
  if (chat === undefined) throw notFound("Chat does not exist!");
  return chat;
}

function groupOf(mac: Inside, guid: string): ChatRow {
  const chat = chatOf(mac, guid);
  if (chat.participants.length === 1) throw unhandled("Chat is not a group chat!");
  return chat;
}

/** An action of the Mac's owner in a group inserts a row, which is pushed like a message. */
function own(
  { db, events, clock }: Inside,
  type: string,
  chat: ChatRow,
  change: { itemType: 1 | 2 | 3; groupActionType?: 0 | 1; groupTitle?: string; otherHandle?: number },
): void {
  const row = db.add({ chat, service: "iMessage", isFromMe: true, dateCreated: clock.now(), text: null, ...change });
  events.emit(type, messageRecord(row, { ...EVERYTHING, participants: true }));
  events.message(row);
}
