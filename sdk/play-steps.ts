/** Plays the steps of a recorded test: acts as your program and as contacts of the sandbox, and waits for events. */

import type { Tightbeam } from "./client.ts";
import type {
  EventType,
  PhoneCall,
  PhoneMessage,
  PhonePayment,
  PhoneReaction,
  PhoneSettings,
  RequestPayment,
  SendMessage,
} from "./wire.ts";

/**
 * A step: a call of your program, an action on a contact's phone, or an event to wait for. `as` names the message or payment
 * request of the step; `"$name"` is its id in `of`, `messageId`, `replyTo` and `requestId` of later steps. An event without `of` is one
 * about no message that an earlier step named. The event's data has every field of `data`, with that value.
 */
export type RecordedStep =
  | { send: SendMessage; as?: string }
  | { request: RequestPayment; as?: string }
  | { phone: string; write: PhoneMessage; as?: string }
  | { phone: string; pay: PhonePayment; as?: string }
  | { phone: string; react: PhoneReaction }
  | { phone: string; call: PhoneCall }
  | { phone: string; change: Partial<PhoneSettings> }
  | { event: EventType; of?: string; data?: Record<string, unknown>; as?: string };

/** Runs one step: calls `act`, which rejects if the step fails, and reports the result under `name`. May swallow the rejection. */
export type RunStep = (name: string, act: () => Promise<void>) => unknown;

/** Longest time for an event of a step, in milliseconds. */
const EVENT_MS_MAX = 10_000;

/** The records of the steps so far. */
interface Played {
  client: Tightbeam;
  /** The newest event before the first step. */
  start: string | undefined;
  /** Ids of messages and of payment requests, by the names of their steps. */
  messages: Map<string, string>;
  payments: Map<string, string>;
  /** Ids of the events that a step has waited for. */
  awaited: Set<string>;
}

/**
 * Plays the steps in turn, each by `run`, up to the first that fails. Returns whether all passed. Throws `TypeError` before the first
 * step if one of them has no known form.
 */
export async function playSteps(client: Tightbeam, steps: readonly RecordedStep[], run: RunStep): Promise<boolean> {
  const names = steps.map(nameOf);
  const start = (await client.events.list({ limit: 1 })).events[0]?.id;
  const played: Played = { client, start, messages: new Map(), payments: new Map(), awaited: new Set() };
  for (const [at, step] of steps.entries()) {
    let hasPassed = false;
    await run(names[at] ?? "", async () => {
      await play(step, played);
      hasPassed = true;
    });
    if (!hasPassed) return false;
  }
  return true;
}

/** Describes a step in words. Throws `TypeError` for an unknown form. */
function nameOf(step: RecordedStep, at: number): string {
  if ("send" in step) return `send ${shown(step.send.content?.text)} to ${step.send.to ?? step.send.chatId}`;
  if ("request" in step) return `request ${step.request.amount} from ${step.request.to}`;
  if ("event" in step) {
    const about = [step.of, step.data === undefined ? undefined : JSON.stringify(step.data)];
    return [`wait for ${step.event}`, ...about.filter((part) => part !== undefined)].join(" ");
  }
  if ("write" in step) return `${step.phone} writes ${shown(step.write.text)}`;
  if ("pay" in step) return `${step.phone} pays ${step.pay.amount ?? step.pay.requestId}`;
  if ("react" in step) return `${step.phone} reacts to ${step.react.messageId} with ${step.react.type}`;
  if ("call" in step) return `FaceTime on ${step.phone}: ${step.call.action}`;
  if ("change" in step) return `settings of ${step.phone}: ${JSON.stringify(step.change)}`;
  throw new TypeError(`Step ${at + 1} has no known form: ${JSON.stringify(step)}.`);
}

const shown = (text: string | undefined): string => (text === undefined ? "files" : JSON.stringify(text));

async function play(step: RecordedStep, played: Played): Promise<void> {
  const { client, messages, payments } = played;
  const name = "as" in step ? step.as : undefined;
  const keep = (message: { id: string }) => name !== undefined && messages.set(name, message.id);
  if ("event" in step) return await awaitEvent(step, played);
  if ("send" in step) keep(await client.messages.send(resolved(step.send, played)));
  else if ("request" in step) {
    const { id, messageId } = await client.payments.request(step.request);
    if (name !== undefined) payments.set(name, id);
    keep({ id: messageId });
  } else {
    const phone = client.sandbox.phone(step.phone);
    if ("write" in step) keep(await phone.write(resolved(step.write, played)));
    else if ("pay" in step) keep(await phone.pay(resolved(step.pay, played)));
    else if ("react" in step) await phone.react(resolved(step.react, played));
    else if ("call" in step) await phone.call(step.call);
    else await phone.change(step.change);
  }
}

/** A body whose `"$name"`s are ids. */
function resolved<Body extends object>(body: Body, { messages, payments }: Played): Body {
  const fields = Object.entries(body).map(([field, value]: [string, unknown]) => {
    if (field === "messageId" || field === "replyTo") return [field, idOf(value, messages)];
    return [field, field === "requestId" ? idOf(value, payments) : value];
  });
  return Object.fromEntries(fields);
}

/** The id that `"$name"` stands for; any other value as it is. Throws for a name that no step has had. */
function idOf<Value>(value: Value, ids: ReadonlyMap<string, string>): Value | string {
  if (typeof value !== "string" || !value.startsWith("$")) return value;
  const id = ids.get(value.slice(1));
  if (id === undefined) throw new Error(`No step before this one is named ${value.slice(1)}.`);
  return id;
}

/** Waits for an event that no step has waited for yet. The message of the error names what came instead. */
async function awaitEvent(step: Extract<RecordedStep, { event: EventType }>, played: Played): Promise<void> {
  const { client, messages, awaited } = played;
  const { event: type, of, data = {}, as } = step;
  const messageId = idOf(of, messages);
  const others: unknown[] = [];
  const until = Date.now() + EVENT_MS_MAX;
  let after = played.start;
  for (let leftMs = EVENT_MS_MAX; leftMs > 0; leftMs = until - Date.now()) {
    const event = await client.sandbox.wait({ type, messageId, after, timeoutSeconds: Math.ceil(leftMs / 1000) });
    if (event === null) break;
    after = event.id;
    if (awaited.has(event.id)) continue;
    const about = "messageId" in event.data ? event.data.messageId : null;
    if (of === undefined && [...messages.values()].some((id) => id === about)) continue;
    const differing = Object.entries(data).filter(([field, value]) => !matches(Reflect.get(event.data, field), value));
    if (differing.length > 0) {
      others.push(Object.fromEntries(differing.map(([field]) => [field, Reflect.get(event.data, field)])));
      continue;
    }
    awaited.add(event.id);
    if (as !== undefined && about) messages.set(as, about);
    return;
  }
  const instead = others.length === 0 ? "" : ` Others came, with ${JSON.stringify(others.slice(0, 3))}.`;
  throw new Error(`It did not come within ${EVENT_MS_MAX / 1000} s.${instead}`);
}

/** Whether a value is the expected one, or an object that has all fields of the expected one. */
function matches(value: unknown, expected: unknown): boolean {
  if (typeof expected !== "object" || expected === null) return value === expected;
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(expected).every(([field, part]) => matches(Reflect.get(value, field), part));
}
