/** Reconciles send attempts whose outcome is unknown: looks them up at the provider, and sends a message again only if the provider proves that it never got it. */

import type { InstanceId, MessageId } from "../../core/id.ts";
import { type Message, pairOf } from "../../core/message.ts";
import { becomeUnknown, fail } from "../../core/message-lifecycle.ts";
import { withPart } from "../../core/message-parts.ts";
import { isHeld } from "../../core/restored-message.ts";
import { type NotedPart, type Outbound, type Outcome, outcomeOfRest, type Provider } from "../../providers/provider.ts";
import { type InterruptedMessage, listAttempted, listInterrupted, type QueuePosition } from "../../store/messages.ts";
import type { WaitingPair } from "../../store/store.ts";
import { withDeadline } from "../deadline.ts";
import { changeContext, type With } from "../engine-deps.ts";
import type { RunResult } from "../run-result.ts";
import { nullIfUnreadable } from "../unreadable.ts";
import { changeMessage } from "./change-message.ts";
import { conclude } from "./conclude.ts";
import { endAttempt, queueAgain, recordPart } from "./end-attempt.ts";
import { type Handling, hasFiles, outboundForLookup } from "./prepare.ts";

/** A message whose outcome is unknown for this long fails with `OUTCOME_UNKNOWN`, in milliseconds of the service's time. */
const UNKNOWN_MS_MAX = 300_000;
/** The next lookup follows after as long as the outcome has been unknown, within these bounds, in milliseconds of the service's time. */
const NEXT_LOOKUP_MS_MIN = 1_000;
export const NEXT_LOOKUP_MS_MAX = 15_000;
/** The same of a held message, which waits for a person. */
const NEXT_HELD_LOOKUP_MS_MAX = 900_000;

/** Looks up a message whose send attempt was recorded and whose outcome is unknown. */
export async function reconcile(
  deps: With<"chance" | "configCache" | "connections" | "link" | "messageCache" | "providers" | "typingIndicators">,
  message: Message,
  { abort, leasedUntil, times }: Pick<Handling, "abort" | "leasedUntil" | "times">,
): Promise<RunResult> {
  const connection = deps.connections.of(message.instanceId);
  if (connection === null) return wait(deps, message, "its instance is not running");
  const { provider, account } = connection;
  // Another account would truthfully say that it never got the message.
  if (message.account !== null && message.account !== account)
    return wait(deps, message, "its instance uses another account now");
  // The lease ran out: the process that died may have been in the middle of the attempt, so the provider gets its time.
  if (message.unknownSince === null) {
    const why = isHeld(message) ? "the provider is asked" : "the send attempt was interrupted";
    return wait(deps, message, why, provider.capabilities.reconcileAfterMs);
  }
  times.asks();
  const outcome = canLookUp(provider, message)
    ? await lookUp(deps, provider.reconcile.bind(provider), message, abort)
    : null;
  times.answered();
  if (isHeld(message) && outcome !== null && (outcome === "absent" || outcome.outcome !== "accepted"))
    return wait(deps, message, stillHeldBecause(outcome));
  if (outcome === "absent") {
    const sendAgain = "the provider does not have it, so it is sent again";
    await changeMessage(deps, message, (fresh) => {
      const again = fresh.sendAttempts === message.sendAttempts ? queueAgain(deps, fresh, sendAgain) : null;
      return again && { ...again, also: [...deps.connections.requireOwner(provider), ...again.also] };
    });
    return "good";
  }
  const rest = outcome === null ? null : outcomeOfRest(outcome);
  if (outcome !== null && rest !== null && rest.outcome !== "unknown") {
    const concluding = () => conclude(deps, provider, message, outcome, leasedUntil);
    const concluded = await nullIfUnreadable(deps, "reconcile", concluding);
    return concluded === null ? wait(deps, message, "a record that it needs cannot be read") : "good";
  }
  // Only the operator sees in the instance's health why it is down.
  const isUp = deps.connections.isUp(deps, message.instanceId);
  const why = rest?.outcome === "unknown" ? rest.reason : null;
  const reason = isUp ? (why ?? "the provider cannot look it up") : "its instance is down";
  return wait(deps, message, reason, null, outcome?.outcome === "partly" ? outcome.part : null);
}

/** Whether the provider can look the message up. A held message with files may have been sent in several parts. */
function canLookUp(provider: Provider, message: Message): provider is Provider & Required<Pick<Provider, "reconcile">> {
  return provider.reconcile !== undefined && !(isHeld(message) && hasFiles(message));
}

/** Why a lookup does not end a hold: between backup and restore the message may have gone another way. */
function stillHeldBecause(outcome: Exclude<Outcome, { outcome: "accepted" }> | "absent"): string {
  if (outcome === "absent") return "the provider has no such message";
  if (outcome.outcome === "partly") return "the provider sent a part of it";
  return outcome.outcome === "unknown" ? outcome.reason : `the provider did not send it: ${outcome.reason}`;
}

async function lookUp(
  deps: With<"messageCache">,
  question: (message: Outbound) => Promise<Outcome | "absent">,
  message: Message,
  abort: AbortController,
): Promise<Outcome | "absent"> {
  const late: Outcome = { outcome: "unknown", reason: "the provider did not respond in time" };
  try {
    const asked = await outboundForLookup(deps, message);
    return await withDeadline<Outcome | "absent">(deps.clock, abort, () => question(asked), late);
  } catch (error) {
    deps.observer.fault("provider.reconcile", error);
    return { outcome: "unknown", reason: "the lookup failed" };
  }
}

/**
 * The outcome is still unknown: schedules the next lookup, or fails the message after five minutes, unless it is held. `part`: the part that is
 * known to have been sent.
 */
async function wait(
  deps: With<"link" | "messageCache">,
  message: Message,
  reason: string,
  waitMs: number | null = null,
  part: NotedPart | null = null,
): Promise<RunResult> {
  if (message.unknownSince === null) deps.observer.unknownOutcome();
  await changeMessage(deps, message, (current) => {
    // A process that was suspended while it asked may find the next attempt.
    if (current.status !== "pending" || current.sendAttempts !== message.sendAttempts) return null;
    const fresh = withPart(current, part);
    const now = deps.clock.now();
    const parts = part === null ? [] : recordPart(current, part, now);
    const since = fresh.unknownSince;
    const held = isHeld(fresh);
    if (since !== null && now - since >= UNKNOWN_MS_MAX && !held) {
      const text = `It may have been sent: the send attempt did not end, and the provider could not tell the outcome (${reason}).`;
      const failed = fail(fresh, { code: "OUTCOME_UNKNOWN", message: text }, changeContext(deps));
      return failed === null ? null : { ...failed, also: parts };
    }
    const againMsMax = held ? NEXT_HELD_LOOKUP_MS_MAX : NEXT_LOOKUP_MS_MAX;
    const againMs = Math.min(Math.max(now - (since ?? now), NEXT_LOOKUP_MS_MIN), againMsMax);
    const also = since === null ? endAttempt(current, "lose", {}, now) : [];
    const unknown = becomeUnknown(fresh, now + (waitMs ?? againMs), reason, now);
    return { message: unknown, events: [], also: [...also, ...parts] };
  });
  return "bad";
}

/** How long later messages wait for an earlier one at most, in milliseconds of the service's time. */
const WAIT_MS_MAX = 60_000;
/** Pairs that wait at once for deferred messages: each claim names them. Further ones do not wait. */
const DEFERRED_PAIRS_MAX = 1_000;
/** Windows of a queue in which a start looks for deferred messages: the last 10,000 messages. */
const DEFERRED_WINDOWS_MAX = 20;

/** A message that the later ones of its pair wait for. */
interface Awaited {
  endsAt: number;
  /** When a deferred message is due: no claim looks for it before. Null: it was interrupted. */
  dueAt: number | null;
}

/** The messages of one pair that later ones wait for, or waited for. */
interface PairWait {
  from: string;
  to: string;
  asked: Map<MessageId, Awaited>;
}

/**
 * Pairs of sender and recipient whose later messages wait: an attempt was interrupted by the end of another process and is looked
 * up, or its provider deferred it.
 */
export class WaitingPairs {
  readonly #deps: With<"configCache" | "membership" | "messageCache" | "providers">;
  readonly #waits = new Map<string, PairWait>();
  /** The epoch under which the attempts of an instance were read: with each new one, another process may have left some open. */
  readonly #epochs = new Map<InstanceId, number>();
  #reading: Promise<void> = Promise.resolve();

  constructor(deps: With<"configCache" | "membership" | "messageCache" | "providers">) {
    this.#deps = deps;
  }

  /** Reads the attempts that others left open, once for each instance that this process gets; resolves before its first message is claimed. */
  async load(lanes: readonly InstanceId[]): Promise<void> {
    if (lanes.every((lane) => this.#isRead(lane))) return;
    this.#reading = this.#reading.catch(() => {}).then(() => this.#read());
    await this.#reading;
  }

  /**
   * Pairs of which no later message is claimed now: later messages keep their places in the order of acceptance. Of several messages
   * that are waited for, the first is sent again before the others. Interrupted ones are all looked up meanwhile.
   */
  waiting(): WaitingPair[] {
    const now = this.#deps.clock.now();
    this.#forget(now);
    return [...this.#waits.values()].flatMap(({ from, to, asked }) => {
      const first = firstOf(asked, now);
      return first === null ? [] : [{ from, to, except: first.filter((id) => (asked.get(id)?.dueAt ?? now) <= now) }];
    });
  }

  /** Whether a claimed message has to wait for an earlier one after all: its provider deferred that one since the claim. */
  holds(message: Message): boolean {
    const wait = this.#waits.get(pairOf(message));
    if (wait === undefined || message.status !== "queued") return false;
    return firstOf(wait.asked, this.#deps.clock.now())?.includes(message.id) === false;
  }

  /**
   * A message was handled. Later messages go on once the outcome of the interrupted one is known or, if it was provably not
   * sent, once it has been sent again. `deferredUntil`: its provider deferred it.
   */
  handled(message: Message, result: RunResult, deferredUntil: number | null): void {
    if (deferredUntil !== null) this.#defer(message, deferredUntil);
    if (deferredUntil !== null || this.#waits.size === 0) return;
    if (message.status === "pending") {
      const isQueued = this.#deps.messageCache.get(message.id)?.status === "queued";
      if (result !== "good" || isQueued) return;
    }
    const pair = pairOf(message);
    const wait = this.#waits.get(pair);
    if (wait?.asked.delete(message.id) === true && wait.asked.size === 0) this.#waits.delete(pair);
  }

  /** Later messages wait for a deferred one, at most 60 s from its first deferral, and not at all if it is due after that. */
  #defer(message: Message, dueAt: number): void {
    if (!this.#takesDeferred(message)) return;
    const now = this.#deps.clock.now();
    const endsAt = this.#waits.get(pairOf(message))?.asked.get(message.id)?.endsAt ?? now + WAIT_MS_MAX;
    this.#add(message, { endsAt: dueAt < endsAt ? endsAt : now, dueAt });
  }

  #takesDeferred(message: Pick<Message, "from" | "to">): boolean {
    return this.#waits.size < DEFERRED_PAIRS_MAX || this.#waits.has(pairOf(message));
  }

  /** Forgets pairs whose waits are over, once their deferred messages are not expected back soon. */
  #forget(now: number): void {
    for (const [pair, { asked }] of this.#waits) {
      for (const [id, { endsAt, dueAt }] of asked) if (now >= Math.max(endsAt, keptUntil(dueAt))) asked.delete(id);
      if (asked.size === 0) this.#waits.delete(pair);
    }
  }

  /** Whether nothing is left to read of an instance. Of one that does not run, no message is claimed to be sent. */
  #isRead(id: InstanceId): boolean {
    return this.#epochs.get(id) === this.#epochOf(id) || !this.#deps.providers.has(id);
  }

  #epochOf(id: InstanceId): number {
    return this.#deps.membership.epochOf(id)?.epoch ?? 0;
  }

  async #read(): Promise<void> {
    for (const { id } of await this.#deps.configCache.instances()) {
      const isServed = this.#deps.membership.servesSince(id) !== null;
      if (!isServed || this.#isRead(id)) continue;
      const epoch = this.#epochOf(id);
      // Without lookups nobody waits for an interrupted attempt.
      if (this.#deps.providers.get(id)?.reconcile !== undefined) await this.#readInterrupted(id);
      await this.#readDeferred(id);
      this.#epochs.set(id, epoch);
    }
  }

  async #readInterrupted(id: InstanceId): Promise<void> {
    const { clock, store } = this.#deps;
    const now = clock.now();
    // Those whose lease lasts are read first: it may end meanwhile, and then they are among the others.
    for (const { claimedUntil, ...message } of (await store.shared?.listOpenAttempts(id)) ?? [])
      this.#ask(message, now + Math.max(0, claimedUntil - clock.real()));
    for (const { unknownSince, ...message } of await listInterrupted(store.db, id, { now, withinMs: WAIT_MS_MAX }))
      this.#ask(message, unknownSince ?? now);
  }

  /**
   * Reads the messages that another process was to repeat soon. They are due later than those behind them, and about as late as that
   * process worked: the read begins at the end of the queue.
   */
  async #readDeferred(id: InstanceId): Promise<void> {
    const { clock, store } = this.#deps;
    const end = clock.now() + WAIT_MS_MAX;
    let before: QueuePosition | null = { dueAt: end, id: "" as MessageId };
    for (let windows = 0; windows < DEFERRED_WINDOWS_MAX && before !== null; windows += 1) {
      const { records, next } = await listAttempted(store.db, id, before);
      for (const { dueAt, ...message } of records)
        if (this.#takesDeferred(message)) this.#add(message, { endsAt: end, dueAt });
      before = next;
    }
  }

  /** `since`: from when on the provider is asked. */
  #ask(message: Pick<InterruptedMessage, "id" | "from" | "to">, since: number): void {
    const known = this.#waits.get(pairOf(message))?.asked.get(message.id)?.endsAt ?? since;
    this.#add(message, { endsAt: Math.max(known, since + WAIT_MS_MAX), dueAt: null });
  }

  #add({ id, from, to }: Pick<InterruptedMessage, "id" | "from" | "to">, awaited: Awaited): void {
    const pair = pairOf({ from, to });
    const wait = this.#waits.get(pair) ?? { from, to, asked: new Map() };
    wait.asked.set(id, awaited);
    this.#waits.set(pair, wait);
  }
}

/**
 * A deferred message is known for a while after it is due: until then it does not make later ones wait a second time, and it may go
 * before one that is deferred after it.
 */
function keptUntil(dueAt: number | null): number {
  return dueAt === null ? 0 : dueAt + WAIT_MS_MAX;
}

/** The first message that later ones still wait for, and those before it; null if there is none. The order of ids is the order of acceptance. */
function firstOf(asked: PairWait["asked"], now: number): MessageId[] | null {
  const ids = [...asked.keys()].sort();
  const first = ids.findIndex((id) => now < (asked.get(id)?.endsAt ?? now));
  return first < 0 ? null : ids.slice(0, first + 1);
}
