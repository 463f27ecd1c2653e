/** The sandbox: a channel whose peers are phones of our own. Keeps what its phones owe in memory; talks to no network. */

import type { Clock } from "../../clock.ts";
import type { CustomerId } from "../../core/id.ts";
import { doublingMs } from "../../core/retry.ts";
import type { Phones } from "../phones.ts";
import type {
  Actions,
  Applied,
  Capabilities,
  Health,
  Memory,
  Outbound,
  Outcome,
  Provider,
  ProviderContext,
  Signal,
} from "../provider.ts";
import { createActions } from "./actions.ts";
import { SandboxCalls } from "./calls.ts";
import { createPeople } from "./people.ts";
import { type AcceptingLine, lineOf, type PhoneStep, stepsFor } from "./phones.ts";
import { SandboxSettings } from "./settings.ts";
import {
  entryKey,
  entryOfStepKey,
  formatEntry,
  JOURNAL_PREFIX,
  newEntry,
  type PendingSignals,
  parseEntry,
  referenceOf,
  stepKey,
  stepsWithKey,
} from "./signal-journal.ts";
import { signalOf } from "./signals.ts";

/** Both channels, and no rate of its own; `concurrency` bounds what a crash leaves half done. */
export const SANDBOX_CAPABILITIES: Capabilities = {
  channels: ["imessage", "sms"],
  concurrency: 64,
  sendTimeoutMs: 40_000,
  reconcileAfterMs: 1_000,
  seesPayments: true,
  emojiReactions: true,
};

/** Messages whose receipts are owed at once; beyond it further ones are put off. */
const OWED_MAX = 100_000;
const FULL_RETRY_AFTER_MS = 1_000;

/** A phone whose answer got lost waits this long to be asked, then gives its receipts unasked. */
const ASKED_WITHIN_MS = 600_000;

/** Receipts found owed at a start are told this many a millisecond, so that a full memory is no flood. */
const RESUMED_PER_MS = 4;

/** What could not be told is tried again after this, doubling to the most. */
const RETRY_AFTER_MS = 50;
const RETRY_AFTER_MS_MAX = 5_000;

const RESET = "the phones were reset before one took it";

/** The longest that a clock waits in one go. */
const WAIT_MS_MAX = 3_600_000;

/** A new sandbox, not started. */
export function createSandbox(context: ProviderContext): Provider & { actions: Actions; phones: Phones } {
  return new Sandbox(context.memory, context.clock);
}

class Sandbox implements Provider {
  readonly name = "sandbox";
  readonly capabilities = SANDBOX_CAPABILITIES;
  readonly actions: Actions;
  readonly phones: Phones;
  readonly #memory: Memory;
  readonly #clock: Clock;
  readonly #settings: SandboxSettings;
  readonly #calls: SandboxCalls;
  readonly #pending = new Map<string, PendingSignals>();
  /** Ends of the pauses that hand-overs are in. */
  readonly #pauses = new Set<() => void>();
  readonly #inFlight = new Set<Promise<unknown>>();
  /** How often the phones of a customer were reset: what was handed over before that is not taken after it. */
  readonly #resets = new Map<CustomerId, number>();
  #stopped = false;
  #signals: (signal: Signal) => Promise<Applied> = () => Promise.reject(new Error("the sandbox is not started"));

  constructor(memory: Memory, clock: Clock) {
    this.#memory = memory;
    this.#clock = clock;
    this.#settings = new SandboxSettings(memory);
    this.#calls = new SandboxCalls(memory);
    this.actions = createActions((customerId, number) => this.#settings.of(customerId, number), clock);
    this.phones = createPeople({
      settings: this.#settings,
      calls: this.#calls,
      report: (signal) => this.#report(signal),
      changed: (customerId, number) => this.#wake(customerId, number),
      drop: (customerId) => this.#drop(customerId),
    });
  }

  async start(signals: (signal: Signal) => Promise<Applied>): Promise<void> {
    this.#signals = signals;
    await Promise.all([this.#settings.load(), this.#calls.load()]);
    const entries = await this.#memory.list(JOURNAL_PREFIX);
    const unspent = new Set(entries.map(({ key }) => key));
    const now = this.#clock.real();
    for (const [index, { key, value }] of entries.entries()) {
      const owed = parseEntry(key, value);
      if (owed === null || this.#pending.has(key)) continue;
      owed.beginsAt = Math.max(owed.beginsAt, now + Math.floor(index / RESUMED_PER_MS));
      this.#adopt(owed, unspent);
    }
    const left = [...unspent].filter((key) => !unspent.has(entryOfStepKey(key) ?? key));
    // Keys of an entry that never came to be: its message is not taken.
    await Promise.all(left.map((key) => this.#memory.delete(key)));
  }

  async send(message: Outbound, abort: AbortSignal): Promise<Outcome> {
    const settings = this.#settings.of(message.customerId, message.to);
    const line = lineOf(message.to, message.channel, settings);
    if (!line.accepts) {
      return { outcome: "rejected", code: line.code, reason: line.reason, notReachable: line.notReachable };
    }
    if (message.attempt <= line.deferrals) return deferred("the recipient's phone is busy for the moment");
    const resets = this.#resets.get(message.customerId);
    const takesAfterMs = Math.min(line.acceptsAfterMs, settings.latencyMs);
    if (takesAfterMs > 0) await this.#pause(takesAfterMs, abort);
    if (this.#stopped || abort.aborted) return deferred("called off before the recipient's phone took it");
    if (resets !== this.#resets.get(message.customerId)) return deferred(RESET);
    const known = this.#pending.get(entryKey(message.messageId, message.channel));
    if (known === undefined) return this.#accept(message, line);
    if (known.isEnding) return deferred("the hand-over before this one is being forgotten", RETRY_AFTER_MS);
    return this.#confirm(known);
  }

  async reconcile(message: Outbound): Promise<Outcome | "absent"> {
    const key = entryKey(message.messageId, message.channel);
    const known = this.#pending.get(key);
    if (known !== undefined && (await known.stored)) return this.#confirm(known);
    const entries = await this.#memory.list(key);
    const entry = entries.find((candidate) => candidate.key === key);
    const found = this.#pending.get(key) ?? (entry === undefined ? null : parseEntry(key, entry.value));
    if (found === null) return "absent";
    if (!this.#pending.has(key)) this.#adopt(found, new Set(entries.map((candidate) => candidate.key)));
    return this.#confirm(found);
  }

  async health(): Promise<Health> {
    return this.#stopped ? { status: "unhealthy", message: "the sandbox is stopped" } : { status: "healthy" };
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const end of this.#pauses) end();
    for (const owed of this.#pending.values()) owed.stopTimer();
    await Promise.allSettled(this.#inFlight);
  }

  /** The phone takes the message: on disk before anyone hears of it, so that what it owes outlives the process. */
  async #accept(message: Outbound, line: AcceptingLine): Promise<Outcome> {
    if (this.#pending.size >= OWED_MAX)
      return deferred(`receipts of ${OWED_MAX} messages are owed`, FULL_RETRY_AFTER_MS);
    const answers = line.outcome === "accepted";
    const now = this.#clock.real();
    const steps = stepsFor(line, message, this.#settings.of(message.customerId, message.to));
    const owed = newEntry(message, answers ? now : now + ASKED_WITHIN_MS, steps);
    this.#pending.set(owed.key, owed);
    owed.stored = this.#track(this.#store(owed, stepsWithKey(owed)));
    if (!(await owed.stored)) {
      this.#pending.delete(owed.key);
      return { outcome: "unknown", reason: "whether the recipient's phone took it could not be stored" };
    }
    if (this.#pending.get(owed.key) !== owed) return deferred(RESET);
    if (answers) owed.beginsAt = this.#clock.real();
    this.#arm(owed);
    return answers ? accepted(owed) : { outcome: "unknown", reason: "the recipient's phone did not answer in time" };
  }

  /** Someone asks about a message that was taken: a phone that waited for that begins with its receipts. */
  async #confirm(owed: PendingSignals): Promise<Outcome> {
    if (!(await owed.stored)) return { outcome: "unknown", reason: "whether it was taken could not be stored" };
    const now = this.#clock.real();
    if (owed.reported === 0 && owed.beginsAt > now) {
      owed.beginsAt = now;
      owed.stopTimer();
      // That it was taken is stored already: should this fail, a restart only waits longer with the receipts.
      await this.#track(this.#store(owed));
      this.#arm(owed);
    }
    return accepted(owed);
  }

  /** Takes up an entry that is in memory; `unspent` are the keys found there. */
  #adopt(owed: PendingSignals, unspent: ReadonlySet<string>): void {
    owed.spent = new Set(stepsWithKey(owed).filter((index) => !unspent.has(stepKey(owed, index))));
    this.#pending.set(owed.key, owed);
    this.#arm(owed);
  }

  /** The entry comes last: once it is there, so is what belongs to it. */
  async #store(owed: PendingSignals, withTokens: readonly number[] = []): Promise<boolean> {
    try {
      const keys = withTokens.map((index) => stepKey(owed, index));
      await Promise.all(keys.map((key) => this.#memory.put(key, "")));
      await this.#memory.put(owed.key, formatEntry(owed));
      return true;
    } catch {
      return false;
    }
  }

  /** Sets the time of the next step, unless the phone is not online. The last one also ends the entry in memory. */
  #arm(owed: PendingSignals): void {
    owed.stopTimer();
    while (owed.spent.has(owed.reported)) owed.reported += 1;
    const step = owed.steps[owed.reported];
    if (this.#stopped || step === undefined || this.#waitsForPhone(owed)) return;
    const next = () => {
      owed.reporting = this.#track(this.#proceed(owed, step));
    };
    owed.stopTimer = this.#clock.after(this.#waitMs(owed, step), next);
  }

  /** Whether it has to wait for its phone to be online. */
  #waitsForPhone(owed: PendingSignals): boolean {
    const { customerId, number } = owed.phone;
    owed.isWaitingForPhone = !this.#settings.of(customerId, number).online;
    return owed.isWaitingForPhone;
  }

  #waitMs(owed: PendingSignals, step: PhoneStep): number {
    if (owed.failures > 0) return doublingMs(owed.failures, RETRY_AFTER_MS, RETRY_AFTER_MS_MAX);
    const { customerId, number } = owed.phone;
    const latencyMs = "receipt" in step ? this.#settings.of(customerId, number).latencyMs : 0;
    const afterMs = step.afterMs + latencyMs;
    if (owed.reported > 0) return afterMs;
    return Math.min(Math.max(0, owed.beginsAt + afterMs - this.#clock.real()), WAIT_MS_MAX);
  }

  async #proceed(owed: PendingSignals, step: PhoneStep): Promise<void> {
    if (this.#waitsForPhone(owed)) return;
    owed.isEnding = owed.reported === owed.steps.length - 1;
    try {
      await this.#signals({ ...signalOf(owed, owed.reported, step), ...forgetting(owed) });
      owed.reported += 1;
      owed.failures = 0;
    } catch {
      owed.failures += 1;
    }
    if (owed.reported === owed.steps.length) this.#pending.delete(owed.key);
    else if (this.#pending.get(owed.key) === owed) this.#arm(owed);
  }

  /** A phone was set: what it held while it was not online goes on. */
  #wake(customerId: CustomerId, number: string): void {
    for (const owed of this.#pending.values()) {
      const { phone } = owed;
      if (phone.number === number && phone.customerId === customerId && owed.isWaitingForPhone) this.#arm(owed);
    }
  }

  /** Forgets what is owed for a customer's messages, and what is being handed over: its messages are gone. */
  async #drop(customerId: CustomerId): Promise<void> {
    this.#resets.set(customerId, (this.#resets.get(customerId) ?? 0) + 1);
    const dropped = [...this.#pending.values()].filter(({ phone }) => phone.customerId === customerId);
    for (const owed of dropped) {
      owed.stopTimer();
      this.#pending.delete(owed.key);
    }
    await Promise.all(dropped.flatMap((owed) => [owed.stored, owed.reporting]));
    const keys = dropped.flatMap((owed) => [owed.key, ...stepsWithKey(owed).map((index) => stepKey(owed, index))]);
    await Promise.all(keys.map((key) => this.#memory.delete(key)));
  }

  /** Tells what a person does. */
  async #report(signal: Signal): Promise<void> {
    if (this.#stopped) throw new Error("the sandbox is stopped");
    await this.#track(this.#signals(signal));
  }

  /** Resolves after `ms`, or as soon as the hand-over is called off or the sandbox stops. */
  #pause(ms: number, abort: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        stopTimer();
        abort.removeEventListener("abort", end);
        this.#pauses.delete(end);
        resolve();
      };
      const stopTimer = this.#clock.after(ms, end);
      this.#pauses.add(end);
      abort.addEventListener("abort", end);
      if (abort.aborted || this.#stopped) end();
    });
  }

  #track<Value>(work: Promise<Value>): Promise<Value> {
    const done = () => void this.#inFlight.delete(work);
    this.#inFlight.add(work);
    work.then(done, done);
    return work;
  }
}

/** The key that ends with the step that is next: the entry with the last one, and before it the step's own. */
function forgetting(owed: PendingSignals): { forget?: string } {
  if (owed.isEnding) return { forget: owed.key };
  return stepsWithKey(owed).includes(owed.reported) ? { forget: stepKey(owed, owed.reported) } : {};
}

function accepted(owed: PendingSignals): Outcome {
  return { outcome: "accepted", reference: referenceOf(owed) };
}

/** `retryAfterMs` null: when is left to whoever asks again. */
function deferred(reason: string, retryAfterMs: number | null = null): Outcome {
  return { outcome: "deferred", retryAfterMs, reason };
}
