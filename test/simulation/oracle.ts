/** Judges a run by what left the system. Its rules are written here independently: it trusts no count of the service. */

import type { MessageEventData } from "../../sdk/wire.ts";
import { type Call, idOf, type SendIntent } from "./client.ts";
import { judgeAttempts, judgeCauses, judgeOrder, judgeReceipts } from "./oracle-attempts.ts";
import { judgeDeliveries, judgeSendings } from "./oracle-deliveries.ts";
import { judgePayments, judgePeople, judgeStops } from "./oracle-people.ts";
import { judgeTimelines } from "./oracle-timelines.ts";
import { NOTHING } from "./rest.ts";
import { fallbackAfterMs, type Judge, mayBeDone, type Rule, type Story, textsOf, type Violation } from "./story.ts";
import type { Observed } from "./world.ts";

/** Every violation of a rule in the run. */
export function judge(run: Observed): Violation[] {
  const violations: Violation[] = [];
  const report = (rule: Rule, what: string) => void violations.push({ rule, what });
  if (!run.hasEnded) report("everything ends", "something is still due after all rounds");
  judgeCalls(run, report);
  const stories = run.intents.flatMap((intent) => storyOf(run, intent, report) ?? []);
  const made: Judge = { run, stories, report };
  judgeStrangers(made);
  judgeEnds(made);
  judgeTimelines(made);
  judgeDeliveries(made);
  judgeSendings(made);
  judgeAttempts(made);
  judgeCauses(made);
  judgeReceipts(made);
  judgeOrder(made);
  judgePeople(made);
  judgeStops(made);
  judgePayments(made);
  return violations;
}

/** Faults that the service reports and that the simulated world caused. */
const EXPECTED_FAULTS = [
  /the line to the carrier broke/,
  /the carrier could not be asked/,
  /The disk is full; nothing was changed/,
  /the disk is full/,
];

/** A further expected fault with carriers whose receipts do not carry the message id. */
const NAMELESS_FAULT = /a receipt names no message of this service/;

/** A line reports this if it does not find its note again. */
const LOST_NOTE = /^the note about an attempt .+ is lost$/;

function judgeCalls(run: Observed, report: Judge["report"]): void {
  const { calls, faults, namesMessages } = run;
  for (const call of calls) {
    const { method, path, status, answer, body } = call;
    if (status === null || status < 500) continue;
    if (status === 503 && isUnavailable(run, call)) continue;
    if (isOfCarrier(method, path, answer?.error?.code)) continue;
    report("no response is a fault", `${method} ${path} ${JSON.stringify(body)}: ${status} ${JSON.stringify(answer)}`);
  }
  for (const { where, message } of faults) {
    const expected = namesMessages ? EXPECTED_FAULTS : [...EXPECTED_FAULTS, NAMELESS_FAULT];
    if (expected.some((one) => one.test(message))) continue;
    report(LOST_NOTE.test(message) ? "no note is lost" : "no response is a fault", `${where}: ${message}`);
  }
}

/** Whether the service could not do at that time what the call asks for. */
function isUnavailable({ wasFull, stops }: Observed, { order, endedOrder, answer }: Call): boolean {
  const message = answer?.error?.message ?? "";
  if (wasFull || /shutting down/.test(message)) return true;
  // A stop begins no more actions at the carriers; the call arrived before it.
  const isStopping = stops.some(({ from, to }) => order < from && endedOrder > from && endedOrder <= to);
  return isStopping && /^The instance of this number is not running/.test(message);
}

/** Whether the call is an action that the carrier refused, failed or did not answer. */
function isOfCarrier(method: string, path: string, code: string | undefined): boolean {
  const isAction = /^\/v1\/messages\/[^/]+\/(unsend|reactions)$|^\/v1\/chats\//.test(path);
  const codes = ["EDIT_FAILED", "PROVIDER_ERROR", "PROVIDER_TIMEOUT"];
  return (isAction || (method === "PUT" && path.startsWith("/v1/messages/"))) && codes.includes(code ?? "");
}

/** The story of a request to send; null if it created no message. */
function storyOf(run: Observed, intent: SendIntent, report: Judge["report"]): Story | null {
  const { messages, events } = run.rest.get(intent.customer) ?? NOTHING;
  const found = new Set<string>();
  for (const { id, externalMessageId } of messages) if (externalMessageId === intent.tag) found.add(id);
  for (const { data } of events) {
    const { externalMessageId, messageId } = data as Partial<MessageEventData>;
    if (externalMessageId === intent.tag && messageId !== undefined) found.add(messageId);
  }
  judgeIntent(intent, found, report);
  const [id] = found;
  if (id === undefined) return null;
  const about = (call: Call) => call.customer === intent.customer && call.path.startsWith(`/v1/messages/${id}`);
  const calls = run.calls.filter(about);
  return {
    id,
    customer: intent.customer,
    intent,
    message: messages.find((message) => message.id === id) ?? null,
    events: events.filter(({ data }) => data.messageId === id) as unknown as Story["events"],
    calls: (kind) => {
      if (kind === "GET" || kind === "DELETE" || kind === "PUT") {
        return calls.filter(({ method, path }) => method === kind && path === `/v1/messages/${id}`);
      }
      return calls.filter(({ path }) => path === `/v1/messages/${id}/${kind}`);
    },
  };
}

function judgeIntent(intent: SendIntent, found: ReadonlySet<string>, report: Judge["report"]): void {
  const acceptedId = idOf(intent);
  if (found.size > 1) report("one key makes one message", `${intent.tag} made ${[...found].join(", ")}`);
  if (acceptedId !== null && !found.has(acceptedId))
    report("accepted messages are kept", `${acceptedId} (${intent.tag}) is gone`);
  let id: string | null = null;
  for (const { status, answer } of intent.calls) {
    const got = status === 200 || status === 202 ? ((answer?.data as { id: string } | undefined)?.id ?? null) : null;
    if (id !== null && got !== null && got !== id) report("one key makes one message", `${intent.tag}: ${id}, ${got}`);
    if (got === null && id !== null && status !== null && status < 500) {
      report("one key makes one message", `${intent.tag} was ${id}, then ${JSON.stringify(answer)}`);
    }
    id ??= got;
  }
  const refused = intent.calls.every((call) => !mayBeDone(call));
  if (refused && found.size > 0) report("refused requests do nothing", `${intent.tag} made ${[...found].join(", ")}`);
}

/** Nothing exists that nobody requested. */
function judgeStrangers({ run, stories, report }: Judge): void {
  const known = new Set(stories.map(({ id }) => id));
  for (const { messages, events, payments } of run.rest.values()) {
    for (const { messageId } of payments) known.add(messageId);
    // `judgePeople` judges inbound messages.
    for (const { id, direction } of messages) if (direction === "inbound") known.add(id);
    const ids = [...messages.map(({ id }) => id), ...events.map(({ data }) => data.messageId)];
    for (const id of new Set(ids)) {
      if (typeof id === "string" && !known.has(id)) report("one key makes one message", `nobody asked for ${id}`);
    }
  }
}

/** At the end of the run every message has ended, or waits for a receipt that may still come. */
function judgeEnds({ run, stories, report }: Judge): void {
  for (const story of stories) {
    const { id, message, intent } = story;
    if (message === null) {
      if (!story.calls("DELETE").some(mayBeDone)) report("accepted messages are kept", `${id} is gone, undeleted`);
      continue;
    }
    const { status, content, to, metadata } = message;
    const same = textsOf(story).includes(content.text ?? "") && to === intent.body.to;
    if (!same || JSON.stringify(metadata ?? undefined) !== JSON.stringify(intent.body.metadata)) {
      report("accepted messages are kept", `${id} is not what was sent: ${JSON.stringify(message)}`);
    }
    if (status === "scheduled" || status === "queued" || status === "pending") {
      report("everything ends", `${id} stays ${status}: ${JSON.stringify(message.timeline)}`);
    }
    if (status === "sent" && hasFallbackLeft(run, story)) {
      report("everything ends", `${id} stays sent, though it has a fallback: ${JSON.stringify(message)}`);
    }
  }
}

function hasFallbackLeft(run: Observed, { intent, message }: Story): boolean {
  const { routing, to = "" } = intent.body;
  const wanted = routing?.fallback !== false && fallbackAfterMs(run, intent) !== null;
  const channels = to.includes("@") ? 1 : (routing?.preference?.length ?? 2);
  return wanted && channels > 1 && message?.fallbackTriggered === false;
}
