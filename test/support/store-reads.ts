/** Every read of the store with a call, and how SQLite goes about a statement. */

import type { DatabaseSync } from "node:sqlite";
import type { Kysely } from "kysely";
import { findArrival } from "../../server/store/arrivals.ts";
import { findCallByUuid, findCallOf, listCalls } from "../../server/store/calls.ts";
import * as chats from "../../server/store/chats.ts";
import * as contacts from "../../server/store/contacts.ts";
import { findContentHead, readContent } from "../../server/store/contents.ts";
import * as customers from "../../server/store/customers.ts";
import { findDelivery, findDeliveryOf, listDeliveries, listDeliveriesAhead } from "../../server/store/deliveries.ts";
import * as erasures from "../../server/store/erasures.ts";
import * as events from "../../server/store/events.ts";
import { findIdempotency } from "../../server/store/idempotency.ts";
import { findInbox, findInboxByUrl, listInboxes } from "../../server/store/inboxes.ts";
import * as instances from "../../server/store/instances.ts";
import type { SqlQuery } from "../../server/store/jobs/queries.ts";
import { findKey, findKeyByHash, listKeys } from "../../server/store/keys.ts";
import { countAll, readPage } from "../../server/store/list-windows.ts";
import { listMemory } from "../../server/store/memory.ts";
import { beginChanges, listChanges } from "../../server/store/message-changes.ts";
import {
  findMatching,
  listMessages,
  listMessagesOfChat,
  listOldest,
  listScheduled,
  type MessageFilter,
} from "../../server/store/message-lists.ts";
import {
  findLanesWithDueTimers,
  findMessage,
  findMessageOf,
  listAttempted,
  listAwaitingErasure,
  listDeferred,
  listInterrupted,
  listMessagesAhead,
  listWaiting,
} from "../../server/store/messages.ts";
import * as numbers from "../../server/store/numbers.ts";
import {
  findOptOuts,
  hasOptOut,
  listContactsOptedOut,
  listContactsOptedOutOfAll,
  listOptOuts,
} from "../../server/store/opt-outs.ts";
import {
  findOldestPending,
  findPayment,
  findPaymentOf,
  listDuePayments,
  listPayments,
} from "../../server/store/payments.ts";
import { countQuarantined, listQuarantined, listQuarantinedMessages } from "../../server/store/quarantine.ts";
import * as replays from "../../server/store/replays.ts";
import {
  countRequests,
  findRequest,
  groupErrors,
  listRequests,
  listRequestTexts,
} from "../../server/store/requests.ts";
import { listRestorable, listUnknown } from "../../server/store/restored.ts";
import type { Database } from "../../server/store/rows.ts";
import { findProviderReference, listKnownReferences, listNoted } from "../../server/store/send-attempts.ts";
import * as sessions from "../../server/store/sessions.ts";
import { findSetting, readDatabaseBytes } from "../../server/store/settings.ts";
import { queryDatabase } from "../../server/store/sqlite/driver.ts";
import { createReader } from "../../server/store/sqlite/query.ts";
import { sumUsage } from "../../server/store/usage.ts";
import {
  findEndpoints,
  findGoneEndpoints,
  findPrimaryEndpoint,
  findWebhook,
  listWebhooks,
} from "../../server/store/webhooks.ts";
import {
  findDeliveries,
  findDeliveriesSince,
  findPendingDeliveries,
  findVersions,
  findWireMessages,
} from "../../server/store/wire.ts";

type Db = Kysely<Database>;
const NOW = 1_767_000_000_000;
/** Behind some row, with some that match to be passed over: every statement of a page is asked. */
const BEHIND = { from: "x", skip: 7 };
const PLACE = { dueAt: 1, id: "msg_1" } as const;
const PERIOD = { fromAt: NOW - 3_600_000, toAt: NOW, stepMs: 3_600_000 };
const TIMES = { real: NOW, shiftMs: 0, retentionMs: 30 * 86_400_000 };
const ERASURE = {
  customerId: "cust_1",
  addresses: ["+1", "a@b.example"],
  before: "msg_9",
  position: 1,
  eventsUntil: 9,
} as never;
const REQUESTS = {
  statusMin: 400,
  statusMax: 500,
  method: "GET",
  path: "/v1",
  code: "NOT_FOUND",
  sinceAt: 1,
  untilAt: 2,
};
const CONTACT = { id: "con_1", customerId: "cust_1" } as never;

/** Calls of each read, by its name: several if its filter makes other statements. */
export const READS: Record<string, (db: Db) => Promise<unknown>> = {
  "wire.findDeliveries": (db) => findDeliveries(db, "cust_1", ["dlv_1", "dlv_2"]),
  "wire.findDeliveriesSince": (db) => findDeliveriesSince(db, "cust_1", "evt_1", 100),
  "wire.findPendingDeliveries": (db) => findPendingDeliveries(db, "cust_1", 100),
  "wire.findVersions": (db) => findVersions(db, "deliveries", "cust_1", ["dlv_1", "dlv_2"]),
  "wire.findWireMessages": (db) => findWireMessages(db, "cust_1", ["msg_1", "msg_2"]),
  "requests.countRequests": (db) => countRequests(db),
  "requests.findRequest": async (db) => {
    for (const whose of [{}, { customerId: "cust_1" }, { customerId: "cust_1", keyId: "key_1" }])
      await findRequest(db, "req_1", whose as never);
  },
  "requests.groupErrors": async (db) => {
    for (const whose of [{}, { customerId: "cust_1", keyId: "key_1" }])
      await groupErrors(db, whose as never, { sinceAt: NOW, untilAt: NOW });
  },
  "requests.listRequests": async (db) => {
    const about = { correlationId: "cor_1", path: "/v1/messages/msg_1" };
    for (const whose of [{}, { customerId: "cust_1", keyId: "key_1" }, { keyId: "key_1", about }])
      for (const order of ["newest", "oldest"] as const)
        await listRequests(db, { ...REQUESTS, ...whose } as never, { order, from: 7, limit: 50 });
  },
  "requests.listRequestTexts": async (db) => {
    for (const customerId of ["cust_1", null] as const) await listRequestTexts(db, customerId, 7, 200);
  },
  "arrivals.findArrival": (db) => findArrival(db, "inst_1", "r"),
  "calls.findCallByUuid": (db) => findCallByUuid(db, "inst_1", "u"),
  "calls.findCallOf": (db) => findCallOf(db, "cust_1", "call_1"),
  "calls.listCalls": (db) => listCalls(db, "cust_1", "incoming", BEHIND, 50),
  "chats.findChat": (db) => chats.findChat(db, "cust_1", "chat_1"),
  "chats.findChatByKey": (db) => chats.findChatByKey(db, "k"),
  "chats.findGroupOfPeople": (db) =>
    chats.findGroupOfPeople(db, { customerId: "cust_1", from: "+1", instanceId: "inst_1" }, ["+2", "+3"]),
  "chats.findLastMessage": (db) => chats.findLastMessage(db, "chat_1"),
  "chats.findThreadByContact": async (db) => {
    for (const from of ["+2", null]) await chats.findThreadByContact(db, "cust_1", "+1", from);
  },
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
  "deliveries.findDelivery": (db) => findDelivery(db, { id: "dlv_1", customerId: "cust_1" }),
  "deliveries.findDeliveryOf": (db) => findDeliveryOf(db, "cust_1", "dlv_1"),
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
  "deliveries.listDeliveriesAhead": (db) => listDeliveriesAhead(db, "wh_1", { now: NOW, from: NOW }, 50),
  "erasures.hasUnerasedEvents": (db) => erasures.hasUnerasedEvents(db, "cust_1"),
  "erasures.findErasedIds": (db) => erasures.findErasedIds(db, "cust_1", ["msg_1", "call_1", "pay_1"]),
  "erasures.findErasure": (db) => erasures.findErasure(db, "cust_1", "con_1"),
  "erasures.hasMessages": (db) => erasures.hasMessages(db, ERASURE),
  "erasures.listCallsWith": (db) => erasures.listCallsWith(db, ERASURE, 50),
  "erasures.listErasable": (db) => erasures.listErasable(db, ERASURE, 50),
  "erasures.listStandaloneEvents": (db) => erasures.listStandaloneEvents(db, ERASURE, 50),
  "erasures.listOpenErasures": (db) => erasures.listOpenErasures(db, 50),
  "erasures.listThreadIds": (db) => erasures.listThreadIds(db, ERASURE, 50),
  "events.findEvent": (db) => events.findEvent(db, "cust_1", "evt_1"),
  "events.findEventBytes": (db) => events.findEventBytes(db, "cust_1", ["evt_1", "evt_2"]),
  "events.listEventBytes": (db) => events.listEventBytes(db, "msg_1"),
  "events.listEventSummaries": (db) => events.listEventSummaries(db, "cust_1", { after: 7, until: 9_000 }, 1_000),
  "events.listEvents": async (db) => {
    for (const filter of combinations({ messageId: "msg_1" })) {
      for (const order of ["newest", "oldest"] as const) {
        await events.listEvents(db, "cust_1", filter, { order, from: 7, limit: 100 });
      }
    }
  },
  "events.listEventsOfMessage": (db) => events.listEventsOfMessage(db, "msg_1"),
  "events.newestPosition": (db) => events.newestPosition(db, "cust_1"),
  "events.newestPositions": (db) => events.newestPositions(db, new Map([["cust_1", 1]])),
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
  "send-attempts.findProviderReference": (db) => findProviderReference(db, "inst_1", "r"),
  "send-attempts.listKnownReferences": (db) => listKnownReferences(db, "inst_1", ["r", "s"]),
  "send-attempts.listNoted": (db) => listNoted(db, "inst_1"),
  "messages.findMessage": (db) => findMessage(db, "msg_1"),
  "messages.findMessageOf": (db) => findMessageOf(db, "cust_1", "msg_1"),
  "messages.findLanesWithDueTimers": (db) => findLanesWithDueTimers(db, ["inst_1"], NOW),
  "messages.listInterrupted": (db) => listInterrupted(db, "inst_1", { now: NOW, withinMs: 60_000 }),
  "messages.listAttempted": (db) => listAttempted(db, "inst_1", { dueAt: NOW, id: "msg_9" }),
  "messages.listDeferred": async (db) => {
    const lane = { customerId: "cust_1", instanceId: "inst_1" } as const;
    for (const after of [null, PLACE]) await listDeferred(db, lane, { from: 1, until: NOW }, after);
  },
  "restored.listRestorable": (db) => listRestorable(db, "msg_1", 200),
  "restored.listUnknown": (db) => listUnknown(db, "newest", "msg_1", 200),
  "messages.listAwaitingErasure": (db) => listAwaitingErasure(db, 50),
  "messages.listMessagesAhead": async (db) => {
    for (const after of [null, PLACE]) {
      await listMessagesAhead(db, "inst_1", { now: NOW, lookupsUntil: NOW }, after);
    }
  },
  "messages.listWaiting": (db) => listWaiting(db, "inst_1", NOW, PLACE, 50),
  "numbers.findNumberByAddress": (db) => numbers.findNumberByAddress(db, "+1"),
  "numbers.findNumbers": (db) => numbers.findNumbers(db, "cust_1"),
  "numbers.findNumbersOn": (db) => numbers.findNumbersOn(db, "inst_1"),
  "numbers.hasRealNumber": (db) => numbers.hasRealNumber(db, "cust_1"),
  "opt-outs.findOptOuts": (db) => findOptOuts(db, { customerId: "cust_1", number: "+1", contacts: ["+2"] }),
  "opt-outs.hasOptOut": (db) => hasOptOut(db, { customerId: "cust_1", number: "+1", contacts: ["+2"] }),
  "opt-outs.listContactsOptedOut": (db) => listContactsOptedOut(db, "+1", 100),
  "opt-outs.listContactsOptedOutOfAll": (db) => listContactsOptedOutOfAll(db, "cust_1", 100),
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
  "quarantine.countQuarantined": (db) => countQuarantined(db),
  "quarantine.listQuarantined": (db) => listQuarantined(db, 50),
  "quarantine.listQuarantinedMessages": (db) => listQuarantinedMessages(db, "msg_1", 50),
  "replays.findPositionBefore": (db) => replays.findPositionBefore(db, NOW),
  "replays.findPositionAt": (db) => replays.findPositionAt(db, NOW),
  "replays.findReplay": (db) => replays.findReplay(db, "cust_1", "wh_1"),
  "replays.listRunningReplays": (db) => replays.listRunningReplays(db, { customerId: "cust_1", id: "rpl_1" }, 50),
  "replays.listDeliveriesTo": (db) => replays.listDeliveriesTo(db, "cust_1", "wh_1", ["evt_1", "evt_2"]),
  "replays.countWaiting": (db) => replays.countWaiting(db, "rpl_1", 50),
  "replays.countDue": (db) => replays.countDue(db, "wh_1", NOW, 50),
  "replays.tallyReplay": (db) => replays.tallyReplay(db, "rpl_1"),
  "sessions.findSession": (db) => sessions.findSession(db, "ses_1"),
  "sessions.findSessionByHash": (db) => sessions.findSessionByHash(db, "h1"),
  "sessions.listEndedSessions": (db) => sessions.listEndedSessions(db, NOW - 3_600_000, 200),
  "sessions.listSessionIdsOfKey": (db) => sessions.listSessionIdsOfKey(db, { keyId: "key_1", kind: "session" }, 200),
  "sessions.listSessions": async (db) => {
    for (const before of [null, "ses_9"]) await sessions.listSessions(db, 0, before, 50);
  },
  "settings.findSetting": (db) => findSetting(db, "s"),
  "settings.readDatabaseBytes": (db) => readDatabaseBytes(db),
  "usage.sumUsage": async (db) => {
    await sumUsage(db, { of: "key", keyId: "key_1", customerId: "cust_1" }, PERIOD);
    await sumUsage(db, { of: "customer", customerId: "cust_1" }, PERIOD);
    await sumUsage(db, { of: "all" }, PERIOD);
  },
  "webhooks.findEndpoints": (db) => findEndpoints(db, ["wh_1", "wh_2"]),
  "webhooks.findGoneEndpoints": (db) => findGoneEndpoints(db, 1_000),
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

/**
 * The statements of a read. A window is answered as if more rows were behind it, so that all of them are asked.
 */
export async function statementsOf(database: DatabaseSync, ask: (db: Db) => Promise<unknown>): Promise<Set<string>> {
  const read = createReader(database);
  const statements = new Set<string>();
  let windows = 0;
  const db = queryDatabase(async (query: SqlQuery) => {
    statements.add(query.sql);
    const rows = read(query);
    const isWindow = / limit 1 offset \? \+ 0$/.test(query.sql);
    if (/\blimit \? \+ 0$/.test(query.sql) && /as place, text from/.test(query.sql))
      return [{ id: "y", place: 9, text: "hello" }];
    const end = { place: query.sql.includes('"position"') ? 9 : "y", dueAt: 9, id: "y", until: 9 };
    return isWindow && windows++ % 3 === 0 ? [end] : rows;
  });
  await ask(db);
  return statements;
}

/** Every subset of these properties. */
function combinations<Filter extends object>(all: Filter): Partial<Filter>[] {
  return Object.entries(all).reduce<Partial<Filter>[]>(
    (subsets, [name, value]) => subsets.flatMap((subset) => [subset, { ...subset, [name]: value }]),
    [{}],
  );
}
