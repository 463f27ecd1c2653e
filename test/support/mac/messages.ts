/** Routes of the fake Mac for messages: get, query, edit and unsend. */

import type { MessageRow } from "./chat-db.ts";
import { type Answer, badRequest, notFound, success, unhandled } from "./envelope.ts";
import { messageRecord, type Relations, wantedOf } from "./records.ts";
import { type ApiRequest, count, type Inside, names, oneOf, optional, type Route, required } from "./route.ts";
import { conditionOf } from "./statements.ts";

const LIMIT_MAX = 1_000;
/** Apple allows unsending for two minutes. */
const UNSEND_MS = 120_000;
/** Apple allows edits for a quarter of an hour. */
const EDIT_MS = 900_000;

export const MESSAGE_ROUTES: readonly Route[] = [
  { method: "POST", path: "message/query", handle: query },
  { method: "GET", path: "message/count/updated", handle: countUpdated },
  { method: "GET", path: "message/:guid", handle: find },
  { method: "POST", path: "message/:guid/edit", handle: edit },
  { method: "POST", path: "message/:guid/unsend", handle: unsend },
];

function query({ db }: Inside, { body }: ApiRequest): Answer {
  const limit = count(body, "limit", 100, LIMIT_MAX);
  const offset = count(body, "offset", 0);
  const sort = oneOf(body, "sort", ["ASC", "DESC"]) ?? "DESC";
  const after = count(body, "after", Number.NEGATIVE_INFINITY);
  const before = count(body, "before", Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
  const wanted = wantedOf(names(body.with));
  const chatGuid = optional(body, "chatGuid");
  if (chatGuid !== null && db.chat(chatGuid) === undefined) {
    return success([], `No chat found with GUID: ${chatGuid}`);
  }
  const holds = conditionOf(body.where, wanted.chats);
  const found = db.messages.filter(
    (row) =>
      row.dateCreated >= after &&
      row.dateCreated <= before &&
      (chatGuid === null || row.chat.guid === chatGuid) &&
      holds(row),
  );
  const way = sort === "ASC" ? 1 : -1;
  found.sort((a, b) => way * (a.dateCreated - b.dateCreated || a.rowId - b.rowId));
  const page = found.slice(offset, offset + limit).map((row) => recordFor(row, wanted));
  return success(page, "Successfully fetched messages!", { offset, limit, total: found.length, count: page.length });
}

function countUpdated({ db }: Inside, { query: given }: ApiRequest): Answer {
  const after = Number(given.get("after") ?? 0);
  const total = db.messages.filter(
    ({ dateDelivered, dateRead }) => Math.max(dateDelivered ?? 0, dateRead ?? 0) >= after,
  ).length;
  return success({ total });
}

function find({ db }: Inside, { params: [guid = ""], query: given }: ApiRequest): Answer {
  const row = db.message(guid);
  if (row === undefined) throw notFound("Message does not exist!");
  return success(recordFor(row, wantedOf(names(given.get("with")))));
}

function recordFor(row: MessageRow, wanted: Relations): unknown {
  if (row.isBroken) throw unhandled("Cannot read properties of undefined (reading 'attributes')");
  return messageRecord(row, wanted);
}

async function edit(mac: Inside, { params: [guid = ""], body }: ApiRequest): Promise<Answer> {
  const text = required(body, "editedMessage");
  required(body, "backwardsCompatibilityMessage");
  const row = selected(mac, guid);
  await mac.privateApi.command("edit-message", "Message Edit Error");
  const now = mac.clock.now();
  if (row.isFromMe && now - row.dateCreated <= EDIT_MS && !mac.faults.hits("revisionIgnored")) {
    row.text = text;
    row.dateEdited = now;
    mac.events.message(row);
  }
  return success(messageRecord(row), "Message edited!");
}

async function unsend(mac: Inside, { params: [guid = ""] }: ApiRequest): Promise<Answer> {
  const row = selected(mac, guid);
  await mac.privateApi.command("unsend-message", "Unsend Message Error");
  const now = mac.clock.now();
  if (row.isFromMe && now - row.dateCreated <= UNSEND_MS && !mac.faults.hits("revisionIgnored")) {
    Object.assign(row, {
      text: null,
      dateEdited: now,
      partCount: 0,
      retractedParts: [0],
    } satisfies Partial<MessageRow>);
    mac.events.message(row);
  }
  return success(messageRecord(row), "Message unsent!");
}

function selected({ db }: Inside, guid: string): MessageRow {
  const row = db.message(guid);
  if (row === undefined) throw badRequest("Selected message does not exist!");
  return row;
}
