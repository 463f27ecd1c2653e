/** Judges actions of people and payment requests: each is reported once, with its event, and ends. */

import type { AnyEvent, Message, PaymentRequest } from "../../sdk/wire.ts";
import type { InboundSignal, ReactionSignal } from "../../server/providers/provider.ts";
import type { Customer } from "./client.ts";
import { NOTHING, type Rest } from "./rest.ts";
import { type Judge, mayBeDone } from "./story.ts";

/** An action of a person, and whether the service had it on disk. */
interface Done<Kind> {
  signal: Kind;
  accepted: boolean;
}

/** Each action once, by the carrier's reference: a repeated report, in any life, is the same action. */
function deedsOf<Kind extends InboundSignal | ReactionSignal>(
  { run }: Judge,
  kind: Kind["kind"],
): Map<string, Done<Kind>> {
  const found = new Map<string, Done<Kind>>();
  for (const { signal, acceptedOrder } of run.carrier.deeds) {
    if (signal.kind !== kind) continue;
    const own = signal as Kind;
    const accepted = acceptedOrder !== null || found.get(own.reference)?.accepted === true;
    found.set(own.reference, { signal: own, accepted });
  }
  return found;
}

export function judgePeople(judge: Judge): void {
  for (const customer of judge.run.customers) {
    const rest = judge.run.rest.get(customer.name) ?? NOTHING;
    judgeInbound(judge, customer, rest);
    judgeRevised(judge, rest);
    judgeContacts(judge, rest);
  }
  judgeReactions(judge);
}

/** Each message that a contact wrote is one record with one event, and no other inbound record exists. */
function judgeInbound(judge: Judge, { numbers }: Customer, { messages, events }: Rest): void {
  const report = (what: string) => judge.report("what people do is reported once", what);
  const written = deedsOf<InboundSignal>(judge, "inbound");
  const inbound = messages.filter(({ direction }) => direction === "inbound");
  const byReference = Map.groupBy(inbound, ({ providerMessageId }) => providerMessageId ?? "");
  for (const [reference, all] of byReference) {
    if (!written.has(reference)) report(`nobody wrote ${reference}: ${all.map(({ id }) => id)}`);
  }
  for (const [reference, { signal, accepted }] of written) {
    if (!numbers.includes(signal.to)) continue;
    const made = byReference.get(reference) ?? [];
    if (made.length > 1 || (accepted && made.length === 0)) report(`${reference} is ${made.length} messages`);
    for (const message of made) judgeMessage(judge, signal, message, events);
  }
}

function judgeMessage(
  judge: Judge,
  signal: InboundSignal,
  { id, from, to }: Message,
  events: readonly AnyEvent[],
): void {
  const report = (what: string) => judge.report("what people do is reported once", what);
  const emitted = events.filter(({ type, data }) => type === "message.inbound" && data.messageId === id);
  if (emitted.length !== 1) report(`${id} was reported ${emitted.length} times`);
  if (from !== signal.from || to !== signal.to) report(`${id} is from ${from} to ${to}: ${JSON.stringify(signal)}`);
  for (const { data } of emitted) {
    if (data.text !== signal.text) report(`${id} was reported with another text: ${JSON.stringify(data)}`);
  }
}

/** An unsent message has status `unsent`, and no later event but its deletion and reactions. */
function judgeRevised({ report }: Judge, { messages, events }: Rest): void {
  const byMessage = Map.groupBy(events, ({ data }) => String(data.messageId));
  for (const [id, all] of byMessage) {
    const own = all.filter(({ type }) => type.startsWith("message."));
    const at = own.findIndex(({ type }) => type === "message.unsent");
    if (at < 0) continue;
    const after = own.slice(at + 1).map(({ type }) => type);
    const others = after.filter((type) => type !== "message.deleted" && type !== "message.reaction");
    if (others.length > 0) report("nothing follows an unsend", `${id} was unsent, then ${others.join(" ")}`);
    const message = messages.find((one) => one.id === id);
    if (message !== undefined && message.status !== "unsent") {
      report("nothing follows an unsend", `${id} was unsent and is ${message.status}`);
    }
  }
}

function judgeContacts({ report }: Judge, { contacts }: Rest): void {
  const addresses = contacts.flatMap(({ phoneNumber, email }) => [phoneNumber, email].filter((one) => one !== null));
  if (new Set(addresses).size < addresses.length) report("no two contacts share an address", addresses.join(", "));
}

/** Each reaction is one event. */
function judgeReactions(judge: Judge): void {
  const reactions = deedsOf<ReactionSignal>(judge, "reaction");
  const emitted = [...judge.run.rest.values()].flatMap(({ events }) =>
    events.filter(({ type }) => type === "message.reaction"),
  );
  const [known, sure] = [reactions.size, [...reactions.values()].filter(({ accepted }) => accepted).length];
  if (emitted.length < sure || emitted.length > known) {
    judge.report(
      "what people do is reported once",
      `${emitted.length} reactions were reported; ${sure} to ${known} were there`,
    );
  }
}

/**
 * A contact who wrote STOP to a number receives nothing more from it, unless the contact wrote START to any number later. A message that its
 * provider had by then is on its way, although the provider may note something before it sends it.
 */
export function judgeStops({ run, report }: Judge): void {
  for (const { signal, acceptedOrder } of run.carrier.deeds) {
    if (signal.kind !== "inbound" || signal.text !== "STOP" || acceptedOrder === null) continue;
    const { from, to } = signal;
    const isTheirs = (deed: (typeof run.carrier.deeds)[number]) =>
      deed.signal.kind === "inbound" && deed.signal.from === from;
    if (run.carrier.deeds.some((deed) => isTheirs(deed) && (deed.signal as InboundSignal).text === "START")) continue;
    const late = run.carrier.sendAttempts.find(
      (sendAttempt) => sendAttempt.givenOrder > acceptedOrder && sendAttempt.from === to && sendAttempt.to === from,
    );
    if (late !== undefined) report("nothing is sent after STOP", `${late.messageId} from ${to} to ${from}`);
  }
}

/** Every accepted payment request exists and ends once, with its event; one payment pays one request. */
export function judgePayments(judge: Judge): void {
  for (const { name } of judge.run.customers) {
    const { payments, events, messages } = judge.run.rest.get(name) ?? NOTHING;
    const report = (what: string) => judge.report("payments end once", what);
    for (const payment of payments) judgePayment(judge, payment, events);
    const payers = payments.flatMap(({ paidBy }) => (paidBy === null ? [] : [paidBy.messageId]));
    if (new Set(payers).size < payers.length) report(`a message paid for two requests: ${payers.join(", ")}`);
    for (const id of payers) {
      const payer = messages.find((message) => message.id === id);
      if (payer?.direction !== "inbound") report(`${id} paid, and is no message of a contact's`);
    }
    judgeAccepted(judge, name, payments);
  }
}

function judgePayment(judge: Judge, payment: PaymentRequest, events: readonly AnyEvent[]): void {
  const { id, status } = payment;
  const own = events.filter(({ type, data }) => type.startsWith("payment.") && data.id === id);
  const emitted = own.map(({ type }) => type.replace("payment.request.", "")).join(" ");
  if (emitted !== `created ${status}`)
    judge.report("payments end once", `${id} is ${status} and its events are ${emitted}`);
  const last = own.at(-1)?.data;
  if (last !== undefined && JSON.stringify(last) !== JSON.stringify(payment)) {
    judge.report("payments end once", `${id} is ${JSON.stringify(payment)}, told of as ${JSON.stringify(last)}`);
  }
}

/** Every payment request accepted with 202 exists, and one idempotency key creates one. */
function judgeAccepted({ run, report }: Judge, name: string, payments: readonly PaymentRequest[]): void {
  const asked = run.calls.filter(({ path, customer }) => path === "/v1/payments/request" && customer === name);
  const byKey = Map.groupBy(asked, (call) => call.idempotencyKey ?? `call ${call.order}`);
  let possible = 0;
  for (const [key, calls] of byKey) {
    if (calls.some(mayBeDone)) possible += 1;
    const ids = calls.flatMap(({ status, answer }) =>
      answer !== null && (status === 200 || status === 202) ? [(answer.data as PaymentRequest).id] : [],
    );
    if (new Set(ids).size > 1) report("one key makes one message", `${key} made ${ids.join(", ")}`);
    const lost = ids.find((id) => !payments.some((payment) => payment.id === id));
    if (lost !== undefined) report("accepted messages are kept", `the payment request ${lost} is gone`);
  }
  if (payments.length > possible) {
    report("one key makes one message", `${payments.length} payment requests of ${possible} that were asked for`);
  }
}
