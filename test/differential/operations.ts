/** The operations of the differential test, of every kind, about the records that the world knows. */

import { type EventType, OPT_OUT_SCOPES, OPT_OUT_SOURCES } from "../../sdk/wire.ts";
import { retryByHand } from "../../server/core/delivery.ts";
import type { EventId, InstanceId, MessageId } from "../../server/core/id.ts";
import type { Message } from "../../server/core/message.ts";
import type { Operation, Transaction } from "../../server/store/store.ts";
import { idempotencyOf, NOW } from "../conformance/store-stage.ts";
import type { World } from "./world.ts";

/** Two instances, so that messages move between lanes. */
export const LANES = ["inst_a", "inst_b"] as unknown as InstanceId[];
export const ADDRESSES = ["+15550000001", "+15550000002", "+15550000003"];
const TYPES: readonly EventType[] = ["message.queued", "message.sent", "message.delivered", "message.failed"];

/** A transaction of one to four operations, no two about one record. */
export async function transactionOf(world: World): Promise<Transaction> {
  const operations: Operation[] = [];
  const subjects = new Set<string>();
  for (let left = 1 + world.below(4); left > 0; left -= 1) {
    const operation = await operationOf(world);
    const subject = subjectOf(operation);
    if (!subjects.has(subject)) operations.push(operation);
    subjects.add(subject);
  }
  return operations;
}

function subjectOf(operation: Operation): string {
  if (operation.op === "event") return `event ${operation.event.id}`;
  if (operation.op === "rewrite") return `event ${operation.eventId}`;
  if (operation.op === "update") return `record ${operation.id}`;
  if ("record" in operation && "id" in operation.record) return `record ${operation.record.id}`;
  if ("where" in operation && "id" in operation.where) return `record ${operation.where.id}`;
  return operation.op;
}

const OPERATIONS: readonly ((world: World) => Operation | Promise<Operation>)[] = [
  insertMessage,
  insertMessage,
  updateMessage,
  updateMessage,
  updateMessage,
  addEvent,
  addEvent,
  addEvent,
  rewriteEvent,
  retryDelivery,
  insertIdempotency,
  changeMemory,
  changeAttempt,
  changeOptOut,
  requireUnleased,
  deleteMessage,
];

function operationOf(world: World): Operation | Promise<Operation> {
  return world.pick(OPERATIONS)(world);
}

/** A due time around the time of claims, or none. */
function dueTime(world: World): number | null {
  return world.chance(0.2) ? null : world.now + world.below(5) * 1_000 - 3_000;
}

function insertMessage(world: World): Operation {
  const message = world.maker.message(world.pick(world.customers), {
    status: "queued",
    instanceId: world.pick(LANES),
    from: world.pick(ADDRESSES),
    to: world.pick(ADDRESSES),
    dueAt: dueTime(world),
    text: world.pick(["", "Grüße 👋", "a'b\"c\\d", "x".repeat(2_000)]),
  });
  // An id that exists is refused by both.
  const record =
    world.chance(0.03) && world.messages.length > 0 ? { ...message, id: world.pick(world.messages).id } : message;
  world.keep(world.messages, record);
  return { op: world.chance(0.5) ? "insert" : "insertUnique", table: "messages", record };
}

async function updateMessage(world: World): Promise<Operation> {
  const known = world.messages.length === 0 ? null : world.pick(world.messages);
  const [fresh] = known === null ? [] : await world.fresh("messages", [known.id]);
  // The wrong version is none that another transaction of the turn makes: the change would then be one of an unknown record.
  const version = (fresh?.version ?? 1) + (world.chance(0.1) ? 100 : 0);
  const id = known?.id ?? "msg_none";
  return { op: "update", table: "messages", id, version, set: messageChange(world, fresh?.claimedUntil ?? null) };
}

/** A message has no due time during a send attempt, so that a due time ends the attempt. */
function messageChange(world: World, claimedUntil: number | null): Partial<Message> {
  const changes: (() => Partial<Message>)[] = [
    () => ({ dueAt: dueTime(world), ...(claimedUntil === null ? {} : { claimedUntil: null }) }),
    () => ({ status: "pending", dueAt: null, claimedUntil: NOW + 45_000 }),
    () => ({ status: "pending", dueAt: dueTime(world), claimedUntil: null, unknownSince: NOW }),
    () => ({ status: "sent", dueAt: dueTime(world), claimedUntil: null, sentAt: NOW }),
    () => ({ status: "queued", dueAt: dueTime(world), claimedUntil: null }),
    () => ({ status: "delivered", dueAt: null, claimedUntil: null }),
    () => ({ instanceId: world.pick(LANES) }),
    () => ({ text: null, metadata: { n: world.below(100) }, timeline: [{ status: "queued", at: NOW }] as never }),
  ];
  return world.pick(changes)();
}

function deleteMessage(world: World): Operation {
  const id = world.messages.length === 0 ? ("msg_none" as MessageId) : world.pick(world.messages).id;
  return { op: "delete", table: "messages", where: { id: world.chance(0.2) ? id : ("msg_none" as MessageId) } };
}

function addEvent(world: World): Operation {
  const isOfMessage = world.messages.length > 0 && world.chance(0.8);
  const owner = isOfMessage ? world.pick(world.messages) : world.pick(world.customers);
  const event = world.maker.event(owner, isOfMessage ? { type: world.pick(TYPES) } : {});
  return { op: "event", event, callbackUrl: world.chance(0.2) ? "https://callback.example/x" : null };
}

async function rewriteEvent(world: World): Promise<Operation> {
  const eventId = (await world.draw("events"))?.id ?? ("evt_none" as EventId);
  return { op: "rewrite", eventId, bytes: JSON.stringify({ erased: world.below(1_000) }) };
}

async function retryDelivery(world: World): Promise<Operation> {
  const delivery = await world.draw("deliveries");
  const { id, version } = delivery ?? { id: "dlv_none" as never, version: 1 };
  const set = delivery === null || delivery === undefined ? { dueAt: null } : retryByHand(delivery, world.now);
  return { op: "update", table: "deliveries", id, version: version + (world.chance(0.1) ? 1 : 0), set };
}

function insertIdempotency(world: World): Operation {
  return { op: "insertUnique", table: "idempotency", record: idempotencyOf(`key ${world.below(300)}`) };
}

function changeMemory(world: World): Operation {
  const place = { instanceId: world.pick(LANES), key: `k${world.below(20)}` };
  if (world.chance(0.3)) return { op: "delete", table: "memory", where: place };
  return { op: "put", table: "memory", record: { ...place, value: String(world.below(1_000)) } };
}

function changeAttempt(world: World): Operation {
  const place = { instanceId: world.pick(LANES), reference: `ref ${world.below(30)}` };
  if (world.chance(0.4))
    return { op: "set", table: "sendAttempts", where: place, set: { state: "accepted", endedAt: NOW } };
  const messageId = world.messages.length === 0 ? ("msg_none" as MessageId) : world.pick(world.messages).id;
  const started = {
    messageId,
    number: 1,
    channel: "sms",
    state: "open",
    startedAt: NOW,
    endedAt: null,
    note: null,
  } as const;
  return { op: "insertUnique", table: "sendAttempts", record: { ...place, ...started } };
}

function changeOptOut(world: World): Operation {
  const [number, contact] = [world.pick(ADDRESSES), world.pick(ADDRESSES)];
  if (world.chance(0.4)) return { op: "delete", table: "optOuts", where: { number, contact } };
  const customerId = world.pick(world.customers).id;
  const [scope, source] = [world.pick(OPT_OUT_SCOPES), world.pick(OPT_OUT_SOURCES)];
  const record = { customerId, number, contact, scope, source, keyword: null, createdAt: NOW };
  return { op: "insertUnique", table: "optOuts", record };
}

function requireUnleased(world: World): Operation {
  return { op: "requireUnleased", lane: world.pick(LANES), from: world.pick(ADDRESSES), to: world.pick(ADDRESSES) };
}
