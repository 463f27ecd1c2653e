/**
 * Erases what was written with a contact. The request commits a record; a chore then erases in small transactions until
 * nothing is left, so a process that dies in between goes on at its next start. The order: messages and their files at
 * once, their events once no delivery waits (`sweep.ts`), events without a message, calls, requests of the log that name the
 * person (`erase-requests.ts`), threads, and at last the addresses in the record.
 */

import { addressesOf } from "../../core/contact.ts";
import {
  type Erasure,
  eraseCall,
  eraseMessage,
  erasePayment,
  mentionsAddress,
  withoutPerson,
} from "../../core/erasure.ts";
import { ApiError } from "../../core/error.ts";
import type { CustomerId, MessageId } from "../../core/id.ts";
import { cancel } from "../../core/message-lifecycle.ts";
import { cancelPayment, type Payment } from "../../core/payment.ts";
import { subscriberForms } from "../../core/phone-forms.ts";
import { findContact } from "../../store/contacts.ts";
import {
  findErasure,
  hasMessages,
  hasUnerasedEvents,
  listCallsWith,
  listErasable,
  listOpenErasures,
  listStandaloneEvents,
  listThreadIds,
} from "../../store/erasures.ts";
import { newestPosition } from "../../store/events.ts";
import { findMessage } from "../../store/messages.ts";
import { findPayment } from "../../store/payments.ts";
import { ERASED_SINCE_VACUUM } from "../../store/settings.ts";
import type { Operation, Transaction } from "../../store/store.ts";
import { change, difference } from "../commit.ts";
import type { Deps } from "../deps.ts";
import { changeContext, type With } from "../engine-deps.ts";
import { transactionOf } from "../messages/change-message.ts";
import { eraseNotes } from "../messages/end-attempt.ts";
import { paymentContext } from "../payments/payments.ts";
import { forEach } from "../unreadable.ts";
import { deletionOf } from "./contacts.ts";
import { eraseRequests, haveLogged, type RequestPlaces } from "./erase-requests.ts";

/** Erasures in one batch. */
const ERASURES_AT_ONCE = 20;
/** Records of a kind that one batch erases: a few milliseconds of the writer. */
const ERASED_AT_ONCE = 50;
/** Events without a message that one batch reads. */
const EVENTS_AT_ONCE = 500;

/**
 * Deletes a contact and starts the erasure of everything written with it until now; returns the erasure. A repeat returns
 * its progress. Throws 404 `NOT_FOUND` for a contact that neither exists nor is being erased.
 */
export async function eraseContact(deps: Deps, customerId: CustomerId, id: string): Promise<Erasure> {
  const { db } = deps.store;
  const erasure = await change(deps, async () => {
    const known = await findErasure(db, customerId, id);
    if (known !== null) return { transaction: null, value: known };
    const contact = await findContact(db, customerId, id);
    if (contact === null) throw new ApiError("NOT_FOUND", `There is no contact ${id}.`);
    const asked: Erasure = {
      contactId: contact.id,
      customerId,
      addresses: addressesOf(contact).flatMap(subscriberForms),
      before: deps.newId("msg"),
      position: 0,
      eventsUntil: (await newestPosition(db, customerId)) ?? 0,
      requestedAt: deps.clock.now(),
      completedAt: null,
    };
    return { transaction: [...deletionOf(contact), { op: "put", table: "erasures", record: asked }], value: asked };
  });
  deps.wake.chores();
  return erasure;
}

/** Erases one batch. Returns whether more can be erased at once. `places` are those of the calls before, if there were any. */
export async function eraseContacts(
  deps: With<"link" | "messageCache" | "threadCache">,
  places: RequestPlaces,
): Promise<boolean> {
  const open = await listOpenErasures(deps.store.db, ERASURES_AT_ONCE);
  // An erasure that meets an unreadable row waits until the row is repaired.
  return (await forEach(deps, "erase", open, (erasure) => goOn(deps, erasure, places))).includes(true);
}

/** One step of an erasure. Returns whether the next step can follow at once. */
async function goOn(
  deps: With<"link" | "messageCache" | "threadCache">,
  erasure: Erasure,
  places: RequestPlaces,
): Promise<boolean> {
  const { db } = deps.store;
  const messages = await listErasable(db, erasure, ERASED_AT_ONCE);
  const erased = await Promise.all(messages.map((id) => eraseOne(deps, id)));
  // If no message could be erased, the next batch does not follow at once.
  if (messages.length > 0) return erased.includes(true);
  const read = await eraseLooseEvents(deps, erasure);
  if (read === "more") return true;
  if (await eraseCalls(deps, erasure)) return true;
  const isWaiting = read === "waits" || (await hasMessages(db, erasure));
  if (isWaiting || (await hasUnerasedEvents(db, erasure.customerId))) return false;
  if (!haveLogged(deps, erasure, places)) return false;
  if (await eraseRequests(deps, erasure, places)) return true;
  await deleteThreads(deps, erasure);
  const done: Erasure = { ...erasure, addresses: [], completedAt: deps.clock.now() };
  const vacuum: Operation = { op: "put", table: "settings", record: { name: ERASED_SINCE_VACUUM, value: "0" } };
  const also = deps.store.shared === null ? [vacuum] : [];
  await change(deps, () => ({
    transaction: [{ op: "put", table: "erasures", record: done }, ...also],
    value: undefined,
  }));
  return false;
}

/**
 * Erases a message with its files and its payment request, in one transaction; cancels it if it is scheduled, and its
 * payment request if that is pending. Returns whether the message could be erased.
 */
async function eraseOne(deps: With<"link" | "messageCache">, id: MessageId): Promise<boolean> {
  const isErased = await change(deps, async () => {
    const message = await findMessage(deps.store.db, id);
    if (message === null || message.status === "queued" || message.status === "pending")
      return { transaction: null, value: false };
    const context = changeContext(deps);
    const erased = eraseMessage(message, context.now);
    const also: Operation[] = [{ op: "delete", table: "contents", where: { messageId: id } }, ...eraseNotes(message)];
    if (message.payment !== null) also.push(...(await paymentErased(deps, message.payment.id)));
    const changed = cancel(erased, context) ?? { message: erased, events: [] };
    return { transaction: transactionOf(message, changed, also), value: true };
  });
  deps.messageCache.forget(id);
  return isErased;
}

async function paymentErased(deps: Deps, id: Payment["id"]): Promise<Operation[]> {
  const payment = await findPayment(deps.store.db, id);
  if (payment === null) return [];
  const erased = erasePayment(payment);
  const cancelled = cancelPayment(erased, "cancel", paymentContext(deps));
  const set = difference(payment, cancelled?.payment ?? erased);
  const update: Operation = { op: "update", table: "payments", id, version: payment.version, set };
  return cancelled === null ? [update] : [update, { op: "event", event: cancelled.event, callbackUrl: null }];
}

/** Events that belong to no message and name the person: typing, calls, changes of groups. */
async function eraseLooseEvents(deps: Deps, erasure: Erasure): Promise<"more" | "waits" | "done"> {
  const events = await listStandaloneEvents(deps.store.db, erasure, EVENTS_AT_ONCE);
  const waiting = events.findIndex((event) => event.waits && mentionsAddress(event, erasure.addresses));
  const read = waiting < 0 ? events : events.slice(0, waiting);
  const last = read.at(-1);
  if (last === undefined) return waiting < 0 ? "done" : "waits";
  const isPerson = (address: string) => erasure.addresses.includes(address);
  const transaction: Transaction = read
    .filter((event) => mentionsAddress(event, erasure.addresses))
    .map((event) => ({ op: "rewrite", eventId: event.id, bytes: withoutPerson(event, isPerson) }));
  const record = { ...erasure, position: last.position };
  await change(deps, () => ({
    transaction: [...transaction, { op: "put", table: "erasures", record }],
    value: undefined,
  }));
  return "more";
}

async function eraseCalls(deps: Deps, erasure: Erasure): Promise<boolean> {
  const calls = await listCallsWith(deps.store.db, erasure, ERASED_AT_ONCE);
  for (const call of calls) {
    const set = difference(call, eraseCall(call, erasure.addresses));
    // If the call has changed since it was read, this is refused, and the next batch finds the call again.
    await deps.store.commit([{ op: "update", table: "calls", id: call.id, version: call.version, set }]);
  }
  return calls.length > 0;
}

/** Threads name the person. They stay if there are newer messages: a message that is accepted meanwhile requires its thread. */
async function deleteThreads(deps: With<"threadCache">, erasure: Erasure): Promise<void> {
  const { customerId, addresses } = erasure;
  const threads = await listThreadIds(deps.store.db, erasure, EVENTS_AT_ONCE);
  if (threads.length === 0) return;
  const people = threads.flatMap((chatId) => addresses.map((address) => ({ chatId, address })));
  const none = people.flatMap(({ chatId, address }): Operation[] => [
    { op: "requireNone", table: "messages", where: { chatId, to: address }, scope: customerId },
    { op: "requireNone", table: "messages", where: { chatId, from: address }, scope: customerId },
  ]);
  const deletes = threads.map((id): Operation => ({ op: "delete", table: "chats", where: { id } }));
  const { result } = await deps.store.commit([...none, ...deletes]);
  if (result === "ok") deps.threadCache.clear();
}
