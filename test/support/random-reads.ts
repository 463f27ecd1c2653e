/** Calls of every read with random arguments, for the comparison of two databases that have the same random rows. */

import type { Kysely } from "kysely";
import {
  CALL_STATUSES,
  CHANNELS,
  DELIVERY_STATUSES,
  DIRECTIONS,
  EVENT_TYPES,
  MESSAGE_STATUSES,
  PAYMENT_STATUSES,
} from "../../sdk/wire.ts";
import { searchWords } from "../../server/core/search.ts";
import { findArrival } from "../../server/store/arrivals.ts";
import { findCallByUuid, findCallOf, listCalls } from "../../server/store/calls.ts";
import * as chats from "../../server/store/chats.ts";
import * as contacts from "../../server/store/contacts.ts";
import { findContentHead, readContent } from "../../server/store/contents.ts";
import * as customers from "../../server/store/customers.ts";
import * as deliveries from "../../server/store/deliveries.ts";
import * as erasures from "../../server/store/erasures.ts";
import * as events from "../../server/store/events.ts";
import { findIdempotency } from "../../server/store/idempotency.ts";
import { findInbox, findInboxByUrl, listInboxes } from "../../server/store/inboxes.ts";
import * as instances from "../../server/store/instances.ts";
import { findKey, findKeyByHash, listKeys } from "../../server/store/keys.ts";
import { countAll, type ListPage, type PageStart, readPage } from "../../server/store/list-windows.ts";
import { listMemory } from "../../server/store/memory.ts";
import * as changes from "../../server/store/message-changes.ts";
import * as lists from "../../server/store/message-lists.ts";
import * as messages from "../../server/store/messages.ts";
import * as numbers from "../../server/store/numbers.ts";
import * as optOuts from "../../server/store/opt-outs.ts";
import * as payments from "../../server/store/payments.ts";
import * as quarantine from "../../server/store/quarantine.ts";
import type { TableName } from "../../server/store/records.ts";
import * as replays from "../../server/store/replays.ts";
import * as requests from "../../server/store/requests.ts";
import { listRestorable, listUnknown } from "../../server/store/restored.ts";
import type { Database } from "../../server/store/rows.ts";
import * as attempts from "../../server/store/send-attempts.ts";
import * as sessions from "../../server/store/sessions.ts";
import { findSetting, readDatabaseBytes } from "../../server/store/settings.ts";
import { sumUsage } from "../../server/store/usage.ts";
import * as webhooks from "../../server/store/webhooks.ts";
import * as wire from "../../server/store/wire.ts";
import { ADDRESSES, CUSTOMERS, type Draw, NOW, type RandomRows, TAGS } from "./random-rows.ts";

type Db = Kysely<Database>;
const TIMES = { real: NOW + 9 * 86_400_000, shiftMs: 0, retentionMs: null };

/** Draws arguments, ids of rows that exist among them. */
export interface Arguments extends Draw {
  rows: RandomRows;
  customer(): never;
  instance(): never;
  address(): string;
  /** The id of a row of a table, or of none. */
  id(table: TableName): never;
  ids(table: TableName): never[];
  limit(): number;
}

export function argumentsOf(draw: Draw, rows: RandomRows): Arguments {
  const id = (table: TableName) =>
    (draw.is(5) ? "none_1" : String(draw.one(rows.tables[table])?.id ?? "none_2")) as never;
  return {
    ...draw,
    rows,
    id,
    ids: (table) => Array.from({ length: draw.below(8) }, () => id(table)),
    customer: () => draw.one(CUSTOMERS) as never,
    instance: () => draw.one(["inst_1", "inst_2"]) as never,
    address: () => draw.one(ADDRESSES),
    limit: () => draw.one([1, 3, 7, 50]),
  };
}

/** All pages of a list, from a random start. */
async function pages<Row>(any: Arguments, read: (start: PageStart) => Promise<ListPage<Row>>): Promise<unknown> {
  const found: unknown[] = [];
  for (let start: PageStart | null = { from: null, skip: any.one([0, 0, 2]) }; start !== null; ) {
    const page: ListPage<Row> = await read(start);
    found.push(page);
    start = page.next;
  }
  return found;
}

const TEXTS = ["green apples", "STRASSE", "istanbul", "\u{3c3}\u{3cd}", "100%_!\\", "\u{e4}pfel", "o", "apples hello"];
const sessionKind = (any: Arguments) => any.one(["link", "session"] as const);
const words = (any: Arguments) => any.orNone(TEXTS.map(searchWords));

function messageFilter(any: Arguments): lists.MessageFilter {
  const drawn: lists.MessageFilter = {
    status: any.one(MESSAGE_STATUSES),
    to: any.address(),
    from: any.address(),
    direction: any.one(DIRECTIONS),
    externalMessageId: any.one(["order-1", "Order-1"]),
    channel: any.one(CHANNELS),
    chatId: any.id("chats"),
    createdAfter: any.instant(),
    createdBefore: any.instant(),
  };
  const kept = Object.entries(drawn).filter(() => any.is(20));
  return { ...Object.fromEntries(kept), words: any.is(40) ? words(any) : undefined };
}

const eventPage = (any: Arguments) => ({
  order: any.one(["newest", "oldest"] as const),
  from: any.is(50) ? null : Number(any.one(any.rows.tables.events).position),
  limit: any.limit(),
});

const place = (any: Arguments) => (any.is(50) ? null : { dueAt: any.instant(), id: any.id("messages") });
const pairOf = (any: Arguments) => ({ customerId: any.customer(), number: any.address(), contacts: [any.address()] });
const erasure = (any: Arguments) =>
  ({
    customerId: any.customer(),
    addresses: any.some(ADDRESSES),
    before: any.id("messages"),
    position: 0,
    eventsUntil: Number.MAX_SAFE_INTEGER,
  }) as never;
const requestsOf = (any: Arguments): requests.RequestsOf => ({
  customerId: any.orNone([any.customer()]),
  keyId: any.orNone(["x", "y"]) as never,
});
const span = (any: Arguments) => ({ from: any.instant() - 20, until: any.instant() });

/** A call of each read. The order of an answer counts, except for those in `UNORDERED` (`unordered-reads.ts`). */
export const RANDOM_READS: Record<string, (db: Db, any: Arguments) => Promise<unknown>> = {
  "arrivals.findArrival": (db, any) => findArrival(db, any.instance(), any.one(["r1", "r2"])),
  "calls.findCallByUuid": (db, any) => findCallByUuid(db, any.instance(), any.one(["u1", "u2"])),
  "calls.findCallOf": (db, any) => findCallOf(db, any.customer(), any.id("calls")),
  "calls.listCalls": (db, any) => {
    const [customer, status, limit] = [any.customer(), any.orNone(CALL_STATUSES), any.limit()];
    return pages(any, (start) => listCalls(db, customer, status, start, limit));
  },
  "chats.findChat": (db, any) => chats.findChat(db, any.customer(), any.id("chats")),
  "chats.findChatByKey": (db, any) => chats.findChatByKey(db, String(any.one(any.rows.tables.chats).key)),
  "chats.findGroupOfPeople": (db, any) => {
    const { customer_id: customerId, from, instance_id: instanceId } = any.one(any.rows.tables.chats) as never;
    const people = any.one([ADDRESSES.slice(0, 2), ADDRESSES.slice(1, 4).toReversed(), []]);
    return chats.findGroupOfPeople(db, { customerId, from, instanceId }, people);
  },
  "chats.findLastMessage": (db, any) => chats.findLastMessage(db, any.id("chats")),
  "chats.findThreadByContact": (db, any) =>
    chats.findThreadByContact(db, any.customer(), any.address(), any.is(50) ? null : any.address()),
  "chats.findUnnamedGroups": (db, any) => chats.findUnnamedGroups(db, any.customer(), any.address()),
  "chats.listChats": (db, any) => chats.listChats(db, any.customer(), any.is(50) ? null : any.id("chats"), any.limit()),
  "chats.listSendersTo": (db, any) => chats.listSendersTo(db, any.customer(), any.address()),
  "contacts.contactList": (db, any) => {
    const filter = { search: any.one(["", "GRACE", "_", "%", "!", "\u{c4}"]), tag: any.orNone(TAGS) };
    const list = { ...contacts.contactList(db, any.customer(), filter), windowRows: any.one([2, 50]) };
    const limit = any.limit();
    return Promise.all([countAll(list), pages(any, (start) => readPage(list, start, limit))]);
  },
  "contacts.findContact": (db, any) => contacts.findContact(db, any.customer(), any.id("contacts")),
  "contacts.findContactAddresses": (db, any) => contacts.findContactAddresses(db, any.customer(), any.some(ADDRESSES)),
  "contacts.findContacts": (db, any) => contacts.findContacts(db, any.customer(), any.ids("contacts")),
  "contacts.findDialogueInstance": (db, any) => contacts.findDialogueInstance(db, any.customer(), any.address()),
  "contacts.findLastContacts": (db, any) =>
    contacts.findLastContacts(
      db,
      any.ids("contacts").map((id) => ({ id }) as never),
    ),
  "contacts.hasUsedImessage": (db, any) => contacts.hasUsedImessage(db, any.customer(), any.address()),
  "contents.findContentHead": (db, any) => findContentHead(db, any.id("contents")),
  "contents.readContent": (db, any) => readContent(db, any.id("contents")),
  "customers.findCustomer": (db, any) => customers.findCustomer(db, any.customer()),
  "customers.findCustomerRouting": async (db, any) =>
    (await customers.findCustomerRouting(db, any.instance())) !== null,
  "customers.findRoutedNumbers": (db, any) => customers.findRoutedNumbers(db, any.instance()),
  "customers.findCustomersByEmail": (db, any) =>
    customers.findCustomersByEmail(db, any.one(["a@B.example", "\u{c4}@b.example"]), any.limit()),
  "customers.findSigners": (db) => customers.findSigners(db, CUSTOMERS as never),
  "customers.hasCustomer": (db, any) => customers.hasCustomer(db, any.customer()),
  "customers.hasSeveralCustomers": (db) => customers.hasSeveralCustomers(db),
  "customers.listCustomers": (db, any) => customers.listCustomers(db, any.is(50) ? null : any.customer(), any.limit()),
  "deliveries.findDelivery": (db, any) =>
    deliveries.findDelivery(db, { id: any.id("deliveries"), customerId: any.customer() }),
  "deliveries.findDeliveryOf": (db, any) => deliveries.findDeliveryOf(db, any.customer(), any.id("deliveries")),
  "deliveries.listDeliveries": (db, any) => {
    const filter = {
      status: any.orNone(DELIVERY_STATUSES),
      webhookId: any.orNone(["wh_1", "wh_2"]),
      ...(any.is(30) ? { eventId: any.id("events") } : {}),
      ...(any.is(30) ? { messageId: any.id("messages") } : {}),
    };
    const [customer, limit] = [any.customer(), any.limit()];
    return pages(any, (start) => deliveries.listDeliveries(db, customer, filter, start, limit));
  },
  "deliveries.listDeliveriesAhead": (db, any) =>
    deliveries.listDeliveriesAhead(db, any.one(["wh_1", "wh_2"]), { now: any.instant(), from: any.instant() }, 1_000),
  "erasures.hasUnerasedEvents": (db, any) => erasures.hasUnerasedEvents(db, any.customer()),
  "erasures.findErasedIds": (db, any) => {
    const ids = (["messages", "calls", "payments"] as const).flatMap((table) => any.ids(table));
    return erasures.findErasedIds(db, any.customer(), ids);
  },
  "erasures.findErasure": (db, any) =>
    erasures.findErasure(db, any.customer(), String(any.one(any.rows.tables.erasures).contact_id)),
  "erasures.hasMessages": (db, any) => erasures.hasMessages(db, erasure(any)),
  "erasures.listCallsWith": (db, any) =>
    erasures.listCallsWith(db, { ...(erasure(any) as object), addresses: [any.address()] } as never, 50),
  "erasures.listErasable": (db, any) => erasures.listErasable(db, erasure(any), 1_000),
  "erasures.listOpenErasures": (db) => erasures.listOpenErasures(db, 1_000),
  "erasures.listStandaloneEvents": (db, any) => erasures.listStandaloneEvents(db, erasure(any), any.limit()),
  "erasures.listThreadIds": (db, any) => erasures.listThreadIds(db, erasure(any), 1_000),
  "events.findEvent": (db, any) => events.findEvent(db, any.customer(), any.id("events")),
  "events.findEventBytes": (db, any) =>
    events.findEventBytes(db, any.customer(), [...any.ids("events"), "x", "é".repeat(9)]),
  "events.listEventBytes": (db, any) => events.listEventBytes(db, any.id("messages")),
  "events.listEventSummaries": (db, any) => {
    const period = { after: eventPage(any).from ?? 0, until: eventPage(any).from ?? Number.MAX_SAFE_INTEGER };
    return events.listEventSummaries(db, any.customer(), period, any.limit());
  },
  "events.listEvents": (db, any) =>
    events.listEvents(db, any.customer(), any.is(30) ? { messageId: any.id("messages") } : {}, eventPage(any)),
  "events.listEventsOfMessage": (db, any) => events.listEventsOfMessage(db, any.id("messages")),
  "events.newestPosition": (db, any) => events.newestPosition(db, any.customer()),
  "events.newestPositions": (db, any) =>
    events.newestPositions(db, new Map(CUSTOMERS.map((id) => [id as never, eventPage(any).from ?? 0]))),
  "events.pageOfEvents": (db, any) => {
    const filter = { type: any.orNone(EVENT_TYPES), ...(any.is(30) ? { messageId: any.id("messages") } : {}) };
    return events.pageOfEvents(db, any.customer(), filter, eventPage(any));
  },
  "idempotency.findIdempotency": (db, any) => findIdempotency(db, any.customer(), any.one(["k1", "k2"])),
  "inboxes.findInbox": (db, any) => findInbox(db, any.customer()),
  "inboxes.findInboxByUrl": (db, any) => findInboxByUrl(db, any.one(["/sandbox/inbox/3", "/sandbox/inbox/4"])),
  "inboxes.listInboxes": (db, any) => listInboxes(db, any.is(50)),
  "instances.findInstance": (db, any) => instances.findInstance(db, any.id("instances")),
  "instances.findInstances": (db) => instances.findInstances(db),
  "instances.hasInstance": (db, any) => instances.hasInstance(db, any.id("instances")),
  "instances.hasRealInstance": (db) => instances.hasRealInstance(db),
  "instances.listInstances": (db, any) =>
    instances.listInstances(db, any.is(50) ? null : any.id("instances"), any.limit()),
  "keys.findKey": (db, any) => findKey(db, any.id("keys")),
  "keys.findKeyByHash": (db, any) => findKeyByHash(db, any.one(["h1", "h2"])),
  "keys.listKeys": (db, any) => listKeys(db, any.is(50) ? null : any.id("keys"), any.limit()),
  "memory.listMemory": (db, any) => listMemory(db, any.instance(), any.one(["", "seen:", "k"])),
  "message-changes.beginChanges": (db, any) => changes.beginChanges(db, NOW + any.below(40) * 3_600_000, TIMES),
  "message-changes.listChanges": async (db, any) => {
    const found: unknown[] = [];
    const [customer, filter, limit] = [any.customer(), messageFilter(any), any.limit()];
    const keptAt = NOW + any.below(20) * 3_600_000;
    let place: changes.ChangesCursor | null = any.is(50)
      ? { in: "messages", after: any.is(50) ? null : any.id("messages"), since: any.instant(), keptAt }
      : { in: "events", position: eventPage(any).from ?? 0, readAt: NOW, since: any.is(50) ? null : any.instant() };
    while (place !== null) {
      const page: changes.ChangesPage = await changes.listChanges(db, customer, filter, { place, limit, times: TIMES });
      found.push(page);
      place = page.hasMore ? page.next : null;
    }
    return found;
  },
  "message-lists.findMatching": (db, any) =>
    lists.findMatching(db, any.customer(), any.ids("messages"), messageFilter(any)),
  "message-lists.listMessages": (db, any) => {
    const [customer, filter, limit] = [any.customer(), messageFilter(any), any.limit()];
    return pages(any, (start) => lists.listMessages(db, customer, filter, start, limit));
  },
  "message-lists.listMessagesOfChat": (db, any) => {
    const [chat, limit] = [any.id("chats"), any.limit()];
    return pages(any, (start) => lists.listMessagesOfChat(db, chat, start, limit));
  },
  "message-lists.listOldest": (db, any) => {
    const range = { beforeId: any.id("messages"), changedSince: any.instant() };
    const [customer, limit] = [any.customer(), any.limit()];
    return pages(any, (start) => lists.listOldest(db, customer, range, start, limit));
  },
  "message-lists.listScheduled": (db, any) =>
    lists.listScheduled(
      db,
      any.customer(),
      any.is(50) ? null : { scheduledAt: any.instant(), id: any.id("messages") },
      any.limit(),
    ),
  "send-attempts.findProviderReference": (db, any) =>
    attempts.findProviderReference(db, any.instance(), any.one(["r1", "r2", "r3"])),
  "send-attempts.listKnownReferences": (db, any) =>
    attempts.listKnownReferences(db, any.instance(), any.some(["r1", "r2", "r3", "none", '"'])),
  "send-attempts.listNoted": (db, any) => attempts.listNoted(db, any.instance()),
  "messages.findMessage": (db, any) => messages.findMessage(db, any.id("messages")),
  "messages.findMessageOf": (db, any) => messages.findMessageOf(db, any.customer(), any.id("messages")),
  "messages.findLanesWithDueTimers": (db, any) =>
    messages.findLanesWithDueTimers(db, any.some(["inst_1", "inst_2", "inst_3"]) as never, any.instant() - 20),
  "messages.listInterrupted": (db, any) =>
    messages.listInterrupted(db, any.instance(), { now: any.instant(), withinMs: any.below(20) }),
  "messages.listAttempted": (db, any) =>
    messages.listAttempted(db, any.instance(), { dueAt: any.instant(), id: any.id("messages") }),
  "messages.listDeferred": (db, any) =>
    messages.listDeferred(db, { customerId: any.customer(), instanceId: any.instance() }, span(any), place(any)),
  "messages.listAwaitingErasure": (db) => messages.listAwaitingErasure(db, 1_000),
  "messages.listMessagesAhead": (db, any) =>
    messages.listMessagesAhead(db, any.instance(), { now: any.instant(), lookupsUntil: any.instant() }, place(any)),
  "messages.listWaiting": (db, any) => messages.listWaiting(db, any.instance(), any.instant(), place(any), any.limit()),
  "restored.listRestorable": (db, any) => listRestorable(db, any.is(50) ? null : any.id("messages"), any.limit()),
  "restored.listUnknown": (db, any) =>
    listUnknown(db, any.one(["newest", "oldest"] as const), any.is(50) ? null : any.id("messages"), any.limit()),
  "numbers.findNumberByAddress": (db, any) => numbers.findNumberByAddress(db, any.one(["+1", "+2"])),
  "numbers.findNumbers": (db, any) => numbers.findNumbers(db, any.customer()),
  "numbers.findNumbersOn": (db, any) => numbers.findNumbersOn(db, any.instance()),
  "numbers.hasRealNumber": (db, any) => numbers.hasRealNumber(db, any.customer()),
  "opt-outs.findOptOuts": (db, any) => optOuts.findOptOuts(db, pairOf(any)),
  "opt-outs.hasOptOut": (db, any) => optOuts.hasOptOut(db, pairOf(any)),
  "opt-outs.listContactsOptedOut": (db, any) => optOuts.listContactsOptedOut(db, any.address(), 1_000),
  "opt-outs.listContactsOptedOutOfAll": (db, any) => optOuts.listContactsOptedOutOfAll(db, any.customer(), 1_000),
  "opt-outs.listOptOuts": (db, any) => {
    const after = { createdAt: any.instant(), number: any.address(), contact: any.address() };
    return optOuts.listOptOuts(db, any.customer(), any.orNone(ADDRESSES), any.is(50) ? null : after, any.limit());
  },
  "payments.findOldestPending": (db, any) => {
    const { customer_id: customerId, from, to } = any.one(any.rows.tables.payments) as never;
    return payments.findOldestPending(db, { customerId, from, to, amountCents: 100 });
  },
  "payments.findPayment": (db, any) => payments.findPayment(db, any.id("payments")),
  "payments.findPaymentOf": (db, any) => payments.findPaymentOf(db, any.customer(), any.id("payments")),
  "payments.listDuePayments": (db, any) => payments.listDuePayments(db, any.instant(), any.limit()),
  "payments.listPayments": (db, any) => {
    const filter = {
      status: any.orNone(PAYMENT_STATUSES),
      createdFrom: any.is(30) ? any.instant() : undefined,
      createdBefore: any.is(30) ? any.instant() : undefined,
    };
    const [customer, limit] = [any.customer(), any.limit()];
    return pages(any, (start) => payments.listPayments(db, customer, filter, start, limit));
  },
  "quarantine.countQuarantined": (db) => quarantine.countQuarantined(db),
  "quarantine.listQuarantined": (db, any) => quarantine.listQuarantined(db, any.limit()),
  "quarantine.listQuarantinedMessages": (db, any) =>
    quarantine.listQuarantinedMessages(db, any.is(50) ? null : any.id("messages"), any.limit()),
  "replays.findPositionBefore": (db, any) => replays.findPositionBefore(db, NOW + any.below(50) * 3_600_000),
  "replays.findPositionAt": (db, any) => replays.findPositionAt(db, NOW + any.below(50) * 3_600_000),
  "replays.findReplay": (db, any) => replays.findReplay(db, any.customer(), any.one(["wh_1", "wh_2"])),
  "replays.listRunningReplays": (db, any) =>
    replays.listRunningReplays(db, { customerId: any.customer(), id: any.id("replays") }, any.limit()),
  "replays.listDeliveriesTo": (db, any) =>
    replays.listDeliveriesTo(db, any.customer(), any.one(["wh_1", "wh_2"]), any.ids("events")),
  "replays.countWaiting": (db, any) => replays.countWaiting(db, any.one(["x", "rpl_1"]) as never, any.limit()),
  "replays.countDue": (db, any) => replays.countDue(db, any.one(["wh_1", "wh_2"]), any.instant(), any.limit()),
  "replays.tallyReplay": (db, any) => replays.tallyReplay(db, any.one(["x", "rpl_1"]) as never),
  "sessions.findSession": (db, any) => sessions.findSession(db, any.id("sessions")),
  "sessions.findSessionByHash": (db, any) => sessions.findSessionByHash(db, any.one(["h1", "h2"])),
  "sessions.listEndedSessions": (db, any) => sessions.listEndedSessions(db, any.instant(), any.limit()),
  "sessions.listSessionIdsOfKey": (db, any) =>
    sessions.listSessionIdsOfKey(db, { keyId: any.one(["key_1", "key_2"]), kind: sessionKind(any) }, any.limit()),
  "sessions.listSessions": (db, any) =>
    sessions.listSessions(db, any.instant(), any.is(50) ? null : any.id("sessions"), any.limit()),
  // The same records take a different room in each database.
  "settings.readDatabaseBytes": async (db) => (await readDatabaseBytes(db)) > 0,
  "settings.findSetting": (db, any) => findSetting(db, any.one(["clock", "probe", "none"])),
  "usage.sumUsage": (db, any) => {
    const customerId = any.customer();
    const of = any.one([
      { of: "key", keyId: any.one(["key_1", "key_2"]), customerId },
      { of: "customer", customerId },
      { of: "all" },
    ] as const);
    return sumUsage(db, of as never, {
      fromAt: NOW,
      toAt: NOW + any.below(6) * 3_600_000,
      stepMs: any.one([1, 2]) * 3_600_000,
    });
  },
  "requests.countRequests": (db) => requests.countRequests(db),
  "requests.findRequest": (db, any) => requests.findRequest(db, any.id("requests"), requestsOf(any)),
  "requests.groupErrors": (db, any) => requests.groupErrors(db, requestsOf(any), { sinceAt: any.orNone([NOW + 20]) }),
  "requests.listRequests": (db, any) => {
    const given: requests.RequestFilter = {
      statusMin: NOW + 10,
      statusMax: NOW + 30,
      method: "x",
      path: "x",
      code: "NOT_FOUND",
      about: { correlationId: any.one(["x", null]), path: any.one(["x", "y"]) },
      sinceAt: any.instant(),
      untilAt: any.instant(),
    };
    const filter = { ...Object.fromEntries(Object.entries(given).filter(() => any.is(30))), ...requestsOf(any) };
    const from = any.is(50) ? null : Number(any.one(any.rows.tables.requests).position);
    return requests.listRequests(db, filter, { order: any.one(["newest", "oldest"]), from, limit: any.limit() });
  },
  "requests.listRequestTexts": (db, any) => {
    const after = Number(any.one(any.rows.tables.requests).position);
    return requests.listRequestTexts(db, any.is(20) ? null : any.customer(), any.is(50) ? 0 : after, any.limit());
  },
  "wire.findDeliveries": (db, any) => wire.findDeliveries(db, any.customer(), any.ids("deliveries")),
  "wire.findDeliveriesSince": (db, any) => wire.findDeliveriesSince(db, any.customer(), any.id("events"), any.limit()),
  "wire.findPendingDeliveries": (db, any) => wire.findPendingDeliveries(db, any.customer(), 4_000),
  "wire.findVersions": (db, any) => wire.findVersions(db, "messages", any.customer(), any.ids("messages")),
  "wire.findWireMessages": (db, any) => wire.findWireMessages(db, any.customer(), any.ids("messages")),
  "webhooks.findEndpoints": (db, any) => webhooks.findEndpoints(db, any.some(["wh_1", "wh_2", "wh_3", "none"])),
  "webhooks.findGoneEndpoints": (db, any) => webhooks.findGoneEndpoints(db, any.limit()),
  "webhooks.findPrimaryEndpoint": (db, any) => webhooks.findPrimaryEndpoint(db, any.customer()),
  "webhooks.findWebhook": (db, any) => webhooks.findWebhook(db, any.customer(), any.one(["wh_1", "wh_4"])),
  "webhooks.listWebhooks": (db, any) => webhooks.listWebhooks(db, any.customer()),
};
