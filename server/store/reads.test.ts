/** How SQLite goes about every read there is: by an index, in its order, and never through a whole table. */

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { before, test } from "node:test";
import type { Kysely } from "kysely";
import { findArrival } from "./arrivals.ts";
import { findCallByUuid, findCallOf, listCalls } from "./calls.ts";
import * as chats from "./chats.ts";
import * as contacts from "./contacts.ts";
import { findContentHead, readContent } from "./contents.ts";
import * as customers from "./customers.ts";
import { findDelivery, findDeliveryOf, findExisting, listDeliveries, listDeliveriesAhead } from "./deliveries.ts";
import * as erasures from "./erasures.ts";
import * as events from "./events.ts";
import { findIdempotency } from "./idempotency.ts";
import { findInbox, findInboxByUrl, listInboxes } from "./inboxes.ts";
import * as instances from "./instances.ts";
import { findKey, findKeyByHash, listKeys } from "./keys.ts";
import { listMemory } from "./memory.ts";
import { beginChanges, listChanges } from "./message-changes.ts";
import {
  findMatching,
  listMessages,
  listMessagesOfChat,
  listOldest,
  listScheduled,
  type MessageFilter,
} from "./message-lists.ts";
import {
  findLanesWithDueTimers,
  findMessage,
  findMessageOf,
  findProviderReference,
  listAwaitingErasure,
  listDeferred,
  listInterrupted,
  listMessagesAhead,
  listWaiting,
} from "./messages.ts";
import * as numbers from "./numbers.ts";
import { findOptOut, listContactsOptedOut, listOptOuts } from "./opt-outs.ts";
import { findOldestPending, findPayment, findPaymentOf, listDuePayments, listPayments } from "./payments.ts";
import { findLastPosition, findPositionAt } from "./replays.ts";
import type { Database } from "./rows.ts";
import { findSetting } from "./settings.ts";
import { openWriter } from "./sqlite/connection.ts";
import { queryDatabase } from "./sqlite/driver.ts";
import { migrate } from "./sqlite/migrate.ts";
import { createReader, type SqlQuery } from "./sqlite/query.ts";
import { sumUsage } from "./usage.ts";
import { findEndpoints, findPrimaryEndpoint, findWebhook, listWebhooks } from "./webhooks.ts";
import { countAll, readPage } from "./windows.ts";

type Db = Kysely<Database>;
const NOW = 1_767_000_000_000;
/** Behind some row, with some that match to be passed over: every statement of a page is asked. */
const BEHIND = { from: "x", skip: 7 };
const PERIOD = { fromAt: NOW - 3_600_000, toAt: NOW, stepMs: 3_600_000 };
const TIMES = { real: NOW, shiftMs: 0, retentionMs: 30 * 86_400_000 };
const ERASURE = {
  customerId: "cust_1",
  addresses: ["+1", "a@b.example"],
  before: "msg_9",
  position: 1,
  eventsUntil: 9,
} as never;
const CONTACT = { id: "con_1", customerId: "cust_1" } as never;

/** A way to ask each read, by its name. Several where its filter makes other statements of it. */
const READS: Record<string, (db: Db) => Promise<unknown>> = {
  "arrivals.findArrival": (db) => findArrival(db, "inst_1", "r"),
  "calls.findCallByUuid": (db) => findCallByUuid(db, "inst_1", "u"),
  "calls.findCallOf": (db) => findCallOf(db, "cust_1", "call_1"),
  "calls.listCalls": (db) => listCalls(db, "cust_1", "incoming", BEHIND, 50),
  "chats.findChat": (db) => chats.findChat(db, "cust_1", "chat_1"),
  "chats.findChatByKey": (db) => chats.findChatByKey(db, "k"),
  "chats.findGroupOfPeople": (db) =>
    chats.findGroupOfPeople(db, { customerId: "cust_1", from: "+1", instanceId: "inst_1" }, ["+2", "+3"]),
  "chats.findLastMessage": (db) => chats.findLastMessage(db, "chat_1"),
  "chats.findThreadByContact": (db) => chats.findThreadByContact(db, "cust_1", "+1", "+2"),
  "chats.findUnnamedGroups": (db) => chats.findUnnamedGroups(db, "cust_1", "+1"),
  "chats.listChats": (db) => chats.listChats(db, "cust_1", "chat_9", 50),
  "chats.listSendersTo": (db) => chats.listSendersTo(db, "cust_1", "+1"),
  "contacts.contactList": async (db) => {
    const list = contacts.contactList(db, "cust_1", { search: "grace", tag: "vip" });
    await countAll(list);
    await readPage(list, BEHIND, 50);
  },
  "contacts.findContact": (db) => contacts.findContact(db, "cust_1", "con_1"),
  "contacts.findContactAddresses": (db) => contacts.findContactAddresses(db, "cust_1", ["+1", "+2"]),
  "contacts.findContacts": (db) => contacts.findContacts(db, "cust_1", ["con_1", "con_2"]),
  "contacts.findDialogueInstance": (db) => contacts.findDialogueInstance(db, "cust_1", "+1"),
  "contacts.findLastContacts": (db) => contacts.findLastContacts(db, [CONTACT]),
  "contacts.hasUsedImessage": (db) => contacts.hasUsedImessage(db, "cust_1", "+1"),
  "contents.findContentHead": (db) => findContentHead(db, "att_1"),
  "contents.readContent": (db) => readContent(db, "att_1"),
  "customers.findCustomer": (db) => customers.findCustomer(db, "cust_1"),
  "customers.findCustomerRouting": (db) => customers.findCustomerRouting(db, "inst_1"),
  "customers.findRoutedNumbers": (db) => customers.findRoutedNumbers(db, "inst_1"),
  "customers.findCustomersByEmail": (db) => customers.findCustomersByEmail(db, "a@b.example", 2),
  "customers.findSigners": (db) => customers.findSigners(db, ["cust_1", "cust_2"]),
  "customers.hasCustomer": (db) => customers.hasCustomer(db, "cust_1"),
  "customers.hasSeveralCustomers": (db) => customers.hasSeveralCustomers(db),
  "customers.listCustomers": (db) => customers.listCustomers(db, null, 50),
  "deliveries.findDelivery": (db) => findDelivery(db, "dlv_1"),
  "deliveries.findDeliveryOf": (db) => findDeliveryOf(db, "cust_1", "dlv_1"),
  "deliveries.findExisting": (db) => findExisting(db, ["dlv_1", "dlv_2"]),
  "deliveries.listDeliveries": async (db) => {
    for (const filter of combinations({
      status: "exhausted",
      webhookId: "wh_1",
      eventId: "evt_1",
      messageId: "msg_1",
    })) {
      await listDeliveries(db, "cust_1", filter as never, BEHIND, 50);
    }
  },
  "deliveries.listDeliveriesAhead": (db) => listDeliveriesAhead(db, "wh_1", NOW, 50),
  "erasures.hasUnerasedEvents": (db) => erasures.hasUnerasedEvents(db, "cust_1"),
  "erasures.findErasure": (db) => erasures.findErasure(db, "cust_1", "con_1"),
  "erasures.hasMessages": (db) => erasures.hasMessages(db, ERASURE, "msg_9"),
  "erasures.listCallsWith": (db) => erasures.listCallsWith(db, ERASURE, 50),
  "erasures.listErasable": (db) => erasures.listErasable(db, ERASURE, 50),
  "erasures.listStandaloneEvents": (db) => erasures.listStandaloneEvents(db, ERASURE, 50),
  "erasures.listOpenErasures": (db) => erasures.listOpenErasures(db, 50),
  "erasures.listThreadIds": (db) => erasures.listThreadIds(db, ERASURE, 50),
  "events.findEvent": (db) => events.findEvent(db, "cust_1", "evt_1"),
  "events.listEventBytes": (db) => events.listEventBytes(db, "msg_1"),
  "events.listEventSummaries": (db) => events.listEventSummaries(db, "cust_1", 7, 1_000),
  "events.listEvents": async (db) => {
    for (const filter of combinations({ messageId: "msg_1" })) {
      for (const order of ["newest", "oldest"] as const) {
        await events.listEvents(db, "cust_1", filter, { order, from: 7, limit: 100 });
      }
    }
  },
  "events.listEventsOfMessage": (db) => events.listEventsOfMessage(db, "msg_1"),
  "events.newestPosition": (db) => events.newestPosition(db, "cust_1"),
  "events.pageOfEvents": async (db) => {
    for (const filter of combinations({ type: "message.sent", messageId: "msg_1" })) {
      for (const order of ["newest", "oldest"] as const) {
        await events.pageOfEvents(db, "cust_1", filter as never, { order, from: 7, limit: 50 });
      }
    }
  },
  "idempotency.findIdempotency": (db) => findIdempotency(db, "cust_1", "k"),
  "inboxes.findInbox": (db) => findInbox(db, "cust_1"),
  "inboxes.findInboxByUrl": (db) => findInboxByUrl(db, "/sandbox/inbox/x"),
  "inboxes.listInboxes": (db) => listInboxes(db, true),
  "instances.findInstance": (db) => instances.findInstance(db, "inst_1"),
  "instances.findInstances": (db) => instances.findInstances(db),
  "instances.hasInstance": (db) => instances.hasInstance(db, "inst_1"),
  "instances.hasRealInstance": (db) => instances.hasRealInstance(db),
  "instances.listInstances": (db) => instances.listInstances(db, "inst_1", 50),
  "keys.findKey": (db) => findKey(db, "key_1"),
  "keys.findKeyByHash": (db) => findKeyByHash(db, "h"),
  "keys.listKeys": (db) => listKeys(db, "key_9", 50),
  "memory.listMemory": (db) => listMemory(db, "inst_1", "seen:"),
  "message-changes.beginChanges": (db) => beginChanges(db, NOW - 60_000, TIMES),
  "message-changes.listChanges": async (db) => {
    const asked = { limit: 50, times: TIMES };
    await listChanges(db, "cust_1", {}, { ...asked, place: { in: "messages", after: "msg_1", since: 1, keptAt: NOW } });
    await listChanges(db, "cust_1", {}, { ...asked, place: { in: "events", position: 7, readAt: NOW, since: 1 } });
  },
  "message-lists.findMatching": (db) => findMatching(db, "cust_1", ["msg_1", "msg_2"], { to: "+1", words: "hello" }),
  "message-lists.listMessages": async (db) => {
    for (const filter of combinations(EVERY_FILTER)) await listMessages(db, "cust_1", filter, BEHIND, 50);
    await listMessages(db, "cust_1", { status: "delivered" }, BEHIND, 50);
  },
  "message-lists.listMessagesOfChat": (db) => listMessagesOfChat(db, "chat_1", BEHIND, 50),
  "message-lists.listOldest": (db) => listOldest(db, "cust_1", { beforeId: "msg_9", changedSince: 1 }, BEHIND, 50),
  "message-lists.listScheduled": (db) => listScheduled(db, "cust_1", { scheduledAt: NOW, id: "msg_1" }, 50),
  "messages.findProviderReference": (db) => findProviderReference(db, "inst_1", "r"),
  "messages.findMessage": (db) => findMessage(db, "msg_1"),
  "messages.findMessageOf": (db) => findMessageOf(db, "cust_1", "msg_1"),
  "messages.findLanesWithDueTimers": (db) => findLanesWithDueTimers(db, ["inst_1"], NOW),
  "messages.listInterrupted": (db) => listInterrupted(db, "inst_1", { now: NOW, withinMs: 60_000 }),
  "messages.listDeferred": (db) =>
    listDeferred(
      db,
      { customerId: "cust_1", instanceId: "inst_1" },
      { from: 1, until: NOW },
      { dueAt: 1, id: "msg_1" },
      50,
    ),
  "messages.listAwaitingErasure": (db) => listAwaitingErasure(db, 50),
  "messages.listMessagesAhead": (db) => listMessagesAhead(db, "inst_1", { now: NOW, lookupsUntil: NOW }, 50),
  "messages.listWaiting": (db) => listWaiting(db, "inst_1", NOW, { dueAt: 1, id: "msg_1" }, 50),
  "numbers.findNumberByAddress": (db) => numbers.findNumberByAddress(db, "+1"),
  "numbers.findNumbers": (db) => numbers.findNumbers(db, "cust_1"),
  "numbers.findNumbersOn": (db) => numbers.findNumbersOn(db, "inst_1"),
  "numbers.hasRealNumber": (db) => numbers.hasRealNumber(db, "cust_1"),
  "opt-outs.findOptOut": (db) => findOptOut(db, "+1", "+2"),
  "opt-outs.listContactsOptedOut": (db) => listContactsOptedOut(db, "+1", 100),
  "opt-outs.listOptOuts": async (db) => {
    const after = { createdAt: NOW, number: "+1", contact: "+2" };
    for (const number of [undefined, "+1"]) {
      for (const behind of [null, after]) await listOptOuts(db, "cust_1", number, behind, 50);
    }
  },
  "payments.findOldestPending": (db) =>
    findOldestPending(db, { customerId: "cust_1", from: "+1", to: "+2", amountCents: 1 }),
  "payments.findPayment": (db) => findPayment(db, "pay_1"),
  "payments.findPaymentOf": (db) => findPaymentOf(db, "cust_1", "pay_1"),
  "payments.listDuePayments": (db) => listDuePayments(db, NOW, 50),
  "payments.listPayments": async (db) => {
    for (const filter of combinations({ status: "paid", createdFrom: 1, createdBefore: NOW })) {
      await listPayments(db, "cust_1", filter as never, BEHIND, 50);
    }
  },
  "replays.findLastPosition": async (db) => [await findLastPosition(db, "cust_1"), await findLastPosition(db, null)],
  "replays.findPositionAt": (db) => findPositionAt(db, NOW),
  "settings.findSetting": (db) => findSetting(db, "s"),
  "usage.sumUsage": async (db) => {
    await sumUsage(db, { of: "key", keyId: "key_1", customerId: "cust_1" }, PERIOD);
    await sumUsage(db, { of: "customer", customerId: "cust_1" }, PERIOD);
    await sumUsage(db, { of: "all" }, PERIOD);
  },
  "webhooks.findEndpoints": (db) => findEndpoints(db, ["wh_1", "wh_2"]),
  "webhooks.findPrimaryEndpoint": (db) => findPrimaryEndpoint(db, "cust_1"),
  "webhooks.findWebhook": (db) => findWebhook(db, "cust_1", "wh_1"),
  "webhooks.listWebhooks": (db) => listWebhooks(db, "cust_1"),
};

const EVERY_FILTER: Required<MessageFilter> = {
  status: "failed",
  to: "+1",
  from: "+2",
  direction: "inbound",
  externalMessageId: "e",
  channel: "sms",
  chatId: "chat_1",
  words: "hello",
  createdAfter: 1,
  createdBefore: NOW,
};

/** Steps of a plan that are not of the usual kind, and why they may be. */
const EXCEPTIONS: Record<string, { step: RegExp; why: string }> = {
  "erasures.listOpenErasures": {
    step: /^SCAN erasures USING INDEX erasures_open$/,
    why: "the index has those alone, in this order, and `limit` of them are read",
  },
  "chats.listSendersTo": {
    step: /^(SCAN m$|USE TEMP B-TREE)/,
    why: "of 20 messages and 100 threads that inner queries answer",
  },
  "message-changes.beginChanges": { step: /^SCAN events$/, why: "from the end of the table, for one row" },
  "message-changes.listChanges": { step: /^SCAN events$/, why: "from the end of the table, for one row" },
  "customers.findRoutedNumbers": {
    step: /^(SCAN customers|USE TEMP B-TREE FOR ORDER BY)$/,
    why: "kept until an admin changes something; one short row a customer, and the numbers of those that route there",
  },
  "customers.findCustomerRouting": { step: /^SCAN customers$/, why: "when an admin deletes an instance; short rows" },
  "customers.hasSeveralCustomers": { step: /^SCAN customers USING COVERING INDEX/, why: "it reads two rows" },
  "instances.hasRealInstance": { step: /^SCAN instances$/, why: "an operator makes each by hand" },
  "customers.listCustomers": {
    step: /^SCAN customers USING INDEX sqlite_autoindex_customers_1$/,
    why: "in the order of its index and without a filter: it reads `limit` rows",
  },
  "instances.findInstances": {
    step: /^SCAN instances USING INDEX sqlite_autoindex_instances_1$/,
    why: "all of them are asked for, and an operator makes each by hand",
  },
  "inboxes.listInboxes": {
    step: /^SCAN endpoints USING INDEX endpoints_inbox$/,
    why: "all of them are asked for, once at start and once where the sandbox is left",
  },
  "numbers.findNumbers": {
    step: /^USE TEMP B-TREE/,
    why: "the numbers of one customer, which an operator assigns by hand",
  },
  "numbers.findNumbersOn": {
    step: /^(SCAN|USE TEMP)/,
    why: "numbers are assigned by hand; asked for a change of an instance",
  },
  "webhooks.listWebhooks": { step: /^USE TEMP B-TREE/, why: "a customer has at most 100 endpoints" },
  "replays.findLastPosition": { step: /^SCAN events$/, why: "from the end of the table, for one row" },
  "usage.sumUsage": { step: /^USE TEMP B-TREE FOR GROUP BY$/, why: "of the hours of one period" },
};

let database: DatabaseSync;
before(async () => {
  database = openWriter(":memory:");
  await migrate(database);
});

/** The statements of a read. A window is answered as if more rows were behind it, so that all of them are asked. */
async function statementsOf(ask: (db: Db) => Promise<unknown>): Promise<Set<string>> {
  const read = createReader(database);
  const statements = new Set<string>();
  let windows = 0;
  const db = queryDatabase(async (query: SqlQuery) => {
    statements.add(query.sql);
    const rows = read(query);
    const isWindow = / as place from /.test(query.sql);
    return isWindow && windows++ % 3 === 0 ? [{ place: query.sql.includes('"position"') ? 9 : "y" }] : rows;
  });
  await ask(db);
  return statements;
}

function planOf(statement: string): string[] {
  return database
    .prepare(`explain query plan ${statement}`)
    .all()
    .map((row) => String(row.detail));
}

/** Every subset of these properties. */
function combinations<Filter extends object>(all: Filter): Partial<Filter>[] {
  return Object.entries(all).reduce<Partial<Filter>[]>(
    (subsets, [name, value]) => subsets.flatMap((subset) => [subset, { ...subset, [name]: value }]),
    [{}],
  );
}

const BAD = /^SCAN |^USE TEMP B-TREE/;
/** Not rows of a table: constants, a list of values, the elements of one JSON text, what an inner query answers. */
const HARMLESS = /^SCAN (\d+ )?(CONSTANT|.*VIRTUAL TABLE|lanes$|\(subquery)/;

test("no read scans a whole table or sorts its rows, except those listed here with the reason", async () => {
  const bad: string[] = [];
  const used = new Set<string>();
  for (const [name, ask] of Object.entries(READS)) {
    for (const statement of await statementsOf(ask)) {
      for (const step of planOf(statement)) {
        if (!BAD.test(step) || HARMLESS.test(step)) continue;
        if (EXCEPTIONS[name]?.step.test(step)) used.add(name);
        else bad.push(`${name}: ${step}\n  ${statement}`);
      }
    }
  }
  assert.deepEqual(bad, []);
  assert.deepEqual(Object.keys(EXCEPTIONS).toSorted(), [...used].toSorted(), "an exception that nothing needs goes");
});

test("every window of a list is a range of the index with the list's order, with any filters", async () => {
  const lists = ["calls.listCalls", "contacts.contactList", "events.pageOfEvents", "payments.listPayments"];
  lists.push("message-lists.listMessages", "message-lists.listMessagesOfChat", "message-lists.listOldest");
  for (const name of lists) {
    const statements = [...(await statementsOf(READS[name] ?? assert.fail(name)))];
    assert.ok(statements.length >= 3, `${name}: its window, its count and its page`);
    for (const statement of statements) {
      const [step = ""] = planOf(statement);
      const isRange = /"(id|position)" [<>]/.test(statement);
      const plan = isRange
        ? /^SEARCH \w+ USING (COVERING )?INDEX \w+ \((\w+=\? AND )+(id|rowid|position)[<>]\?( AND (id|rowid|position)[<>]\?)?\)$/
        : /^SEARCH \w+ USING (COVERING )?INDEX \w+ \((\w+=\?( AND )?)+\)$/;
      assert.match(step, plan, `${name}: ${statement}`);
    }
  }
});

test("every read of the store has a line in this test", async () => {
  const names: string[] = [];
  for (const file of readdirSync(import.meta.dirname)) {
    if (!file.endsWith(".ts") || /^(schema|rows|records|store|windows|quarantine)\.ts$|\.test\.ts$/.test(file))
      continue;
    const module: Record<string, unknown> = await import(`./${file}`);
    for (const [name, value] of Object.entries(module)) {
      if (typeof value === "function" && /^\s*(async )?function \w+\(\s*db\b/.test(value.toString())) {
        names.push(`${file.slice(0, -3)}.${name}`);
      }
    }
  }
  assert.deepEqual(names.toSorted(), Object.keys(READS).toSorted(), "a new read needs a line in READS, above");
});
