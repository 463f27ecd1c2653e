/** Judges what reached the receivers: every event, signed, whole, in order, and tried exactly as the schedule says. */

import { createHmac } from "node:crypto";
import type { AnyEvent, Attempt, Delivery } from "../../sdk/wire.ts";
import type { Customer } from "./client.ts";
import type { Sending } from "./network.ts";
import { NOTHING, type Rest } from "./rest.ts";
import { type Judge, mayBeDone } from "./story.ts";

/** Attempts of one endpoint at once: the default of `TB_WEBHOOK_CONCURRENCY`. */
const ABREAST_MAX = 64;

interface Mail {
  customer: Customer;
  rest: Rest;
  sendings: Sending[];
  /** By the event that they carried. */
  byEvent: Map<string, Sending[]>;
}

function mailOf({ run }: Judge): Mail[] {
  return run.customers.map((customer) => {
    const rest = run.rest.get(customer.name) ?? NOTHING;
    const sendings = run.sendings.filter(({ url }) => new URL(url).pathname.startsWith(`/${customer.name}/`));
    return { customer, rest, sendings, byEvent: Map.groupBy(sendings, eventIdOf) };
  });
}

function eventIdOf({ body }: Sending): string {
  return (JSON.parse(body) as AnyEvent).id;
}

export function judgeDeliveries(judge: Judge): void {
  for (const mail of mailOf(judge)) {
    judgeCompleteness(judge, mail);
    for (const delivery of mail.rest.deliveries) judgeAttempts(judge, mail, delivery);
  }
}

/** Whether events of the past were sent to an endpoint again. */
function isReplayed({ run }: Judge, endpointId: string): boolean {
  return run.calls.some((call) => call.path === `/v1/webhooks/${endpointId}/replay` && mayBeDone(call));
}

/** Every event has one delivery to each endpoint that existed during the whole run, and to its message's callback. */
function judgeCompleteness(judge: Judge, { customer, rest }: Mail): void {
  const deliveries = Map.groupBy(rest.deliveries, ({ eventId }) => eventId);
  for (const event of rest.events) {
    if (event.type === "webhook.test") continue;
    const there = deliveries.get(event.id) ?? [];
    for (const { id, isStatic } of customer.endpoints) {
      const { events = [] } = rest.endpoints.find((endpoint) => endpoint.id === id) ?? {};
      if (!isStatic || !(events.includes("*") || events.includes(event.type))) continue;
      const count = there.filter(({ webhookId }) => webhookId === id).length;
      if (count === 1 || (count > 1 && isReplayed(judge, id))) continue;
      judge.report("every event has its deliveries", `${event.type} ${event.id} has ${count} deliveries to ${id}`);
    }
    judgeCallback(judge, customer, event, there);
  }
}

function judgeCallback(judge: Judge, customer: Customer, event: AnyEvent, there: readonly Delivery[]): void {
  const intent = judge.stories.find(({ id }) => id === event.data.messageId)?.intent;
  const callbackUrl = intent?.body.callbackUrl;
  if (callbackUrl === undefined) return;
  const to = there.filter(({ webhookId, url }) => webhookId === null && url === callbackUrl);
  const covered = customer.endpoints.some(({ url, isStatic }) => isStatic && url === callbackUrl);
  if (to.length !== (covered ? 0 : 1)) {
    judge.report(
      "every event has its deliveries",
      `${event.type} ${event.id}: ${to.length} deliveries to ${callbackUrl}`,
    );
  }
}

function isSuccess({ status }: Attempt): boolean {
  return status !== null && status >= 200 && status < 300;
}

/** The attempts of a delivery are those that were sent, at the times the schedule asks for, up to its end. */
function judgeAttempts(judge: Judge, mail: Mail, delivery: Delivery): void {
  const { report } = judge;
  const { id, status, attempts, webhookId, eventId } = delivery;
  const shown = `${id}: ${status} ${JSON.stringify(attempts)}`;
  if (status === "pending") report("everything ends", shown);
  const endpoint = mail.customer.endpoints.find((one) => one.id === webhookId);
  const isStatic = webhookId === null || endpoint?.isStatic === true;
  if (status === "cancelled" && isStatic) report("every event has its deliveries", shown);
  const sent = mail.byEvent.get(eventId) ?? [];
  for (const attempt of attempts) {
    const match = sent.some((one) => one.at === Date.parse(attempt.at) && one.posted?.status === attempt.status);
    if (!match) report("recorded attempts were sent", `${shown}; sent: ${showSendings(sent)}`);
  }
  if (status === "succeeded") {
    const arrived = sent.some(
      ({ answered, arrived }) => arrived && answered !== null && answered >= 200 && answered < 300,
    );
    if (!arrived || !attempts.some(isSuccess)) {
      report("recorded attempts were sent", `${shown} never arrived; sent: ${showSendings(sent)}`);
    }
  }
  if (!mayBeByHand(judge, id)) judgeSchedule(judge, delivery, shown);
}

function judgeSchedule({ run, report }: Judge, { status, attempts }: Delivery, shown: string): void {
  const schedule = run.settings.webhookRetryScheduleMs;
  const failures = attempts.filter((attempt) => !isSuccess(attempt)).length;
  const last = attempts.at(-1);
  const isWhole =
    status === "succeeded"
      ? last !== undefined && isSuccess(last) && failures === attempts.length - 1
      : failures === attempts.length && (status !== "exhausted" || attempts.length === schedule.length + 1);
  if (!isWhole) report("attempts follow the schedule", `${shown} does not follow ${schedule.join(" ")}`);
  for (const [index, { at }] of attempts.entries()) {
    const before = attempts[index - 1];
    if (before === undefined) continue;
    const floor = Date.parse(before.at) + before.durationMs + (schedule[index - 1] ?? Number.POSITIVE_INFINITY);
    if (Date.parse(at) < floor) report("attempts follow the schedule", `${shown}: attempt ${index + 1} is too early`);
  }
}

function showSendings(sendings: readonly Sending[]): string {
  return JSON.stringify(sendings.map(({ life, url, at, arrived, posted }) => ({ life, url, at, arrived, posted })));
}

export function judgeSendings(judge: Judge): void {
  for (const mail of mailOf(judge)) {
    const events = new Map(mail.rest.events.map((event) => [event.id, event]));
    for (const sending of mail.sendings) {
      const parsed = JSON.parse(sending.body) as AnyEvent;
      const event = events.get(parsed.id);
      const wrong = event === undefined ? "nobody's event" : whatIsWrong(judge, mail, sending, event);
      if (wrong !== null) judge.report("webhooks are signed and complete", `${parsed.id} to ${sending.url}: ${wrong}`);
    }
    judgeRecords(judge, mail);
    judgeFirstAttempts(judge, mail);
  }
}

function whatIsWrong({ run, stories }: Judge, { customer }: Mail, sending: Sending, event: AnyEvent): string | null {
  const { headers, body, real, url, abreast } = sending;
  const isErased = stories.find(({ id }) => id === event.data.messageId)?.message === null;
  if (!isErased && body !== JSON.stringify(event)) return `is ${body}, but the event is ${JSON.stringify(event)}`;
  const timestamp = headers["X-Timestamp"] ?? "";
  if (timestamp !== String(Math.floor(real / 1_000))) return `X-Timestamp ${timestamp} at ${real}`;
  const secrets = [customer.secret, ...customer.endpoints.map(({ secret }) => secret)];
  const signatures = secrets.map((secret) => createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex"));
  if (!signatures.some((signature) => headers["X-Signature"] === `sha256=${signature}`)) return "no one's signature";
  const { correlationId } = event.data;
  if (correlationId !== undefined && headers["X-Correlation-Id"] !== correlationId) return "another correlation";
  if (run.lives === 1 && abreast > ABREAST_MAX) return `${abreast} at once at ${url}`;
  return null;
}

/** Every request whose end the service saw is recorded, unless the service died or the disk was full. */
function judgeRecords({ run, report }: Judge, { rest, sendings }: Mail): void {
  if (run.wasFull) return;
  const recorded = new Map<string, number>();
  for (const { eventId, attempts } of rest.deliveries) {
    recorded.set(eventId, (recorded.get(eventId) ?? 0) + attempts.length);
  }
  const ended = sendings.filter(
    ({ posted, life }) => life === run.lives && posted !== null && posted.error !== "STOPPED",
  );
  const sent = Map.groupBy(ended, eventIdOf);
  for (const [eventId, all] of sent) {
    if ((recorded.get(eventId) ?? 0) < all.length) {
      report(
        "recorded attempts were sent",
        `${eventId}: ${recorded.get(eventId)} on record; sent ${showSendings(all)}`,
      );
    }
  }
}

/** Whether somebody may have asked for an attempt of a delivery at once. */
function mayBeByHand({ run }: Judge, id: string): boolean {
  return run.calls.some((call) => call.path === `/v1/webhooks/deliveries/${id}/retry` && mayBeDone(call));
}

/**
 * Within one message and address, the first attempt of an event starts after the first attempt of the previous event
 * has ended, unless it was asked for by hand.
 */
function judgeFirstAttempts(judge: Judge, { customer, rest, sendings }: Mail): void {
  const steady = customer.endpoints.filter(({ id, isStatic }) => isStatic && !isReplayed(judge, id));
  for (const { url } of steady) {
    const there = sendings.filter((sending) => sending.url === url);
    const byMessage = Map.groupBy(there, ({ body }) => String((JSON.parse(body) as AnyEvent).data.messageId));
    for (const [messageId, all] of byMessage) {
      const first = new Map<number, Sending>();
      const ended = new Map<number, number>();
      for (const sending of all) {
        const sequence = Number((JSON.parse(sending.body) as AnyEvent).data.sequence);
        if (!first.has(sequence)) first.set(sequence, sending);
        if (sending.endedOrder !== null && !ended.has(sequence)) ended.set(sequence, sending.endedOrder);
      }
      for (const [sequence, sending] of first) {
        const delivery = rest.deliveries.find((one) => one.url === url && one.eventId === eventIdOf(sending));
        if (delivery !== undefined && mayBeByHand(judge, delivery.id)) continue;
        const before = [...first.keys()].filter(
          (one) => one < sequence && (ended.get(one) ?? Infinity) > sending.order,
        );
        if (before.length > 0) {
          judge.report(
            "first attempts keep their order",
            `${messageId} at ${url}: ${sequence} began before ${before} ended`,
          );
        }
      }
    }
  }
}
