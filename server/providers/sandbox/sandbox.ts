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
import { Calls } from "./calls.ts";
import { createCommands } from "./commands.ts";
import {
  entryOfToken,
  newOwed,
  OWED_PREFIX,
  type Owed,
  owedKey,
  owedText,
  parseOwed,
  referenceOf,
  tokenKey,
  tokens,
} from "./owed.ts";
import { createPeople } from "./people.ts";
import { lineOf, type Step, stepsFor, type Taking } from "./phones.ts";
import { Settings } from "./settings.ts";
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
  readonly #settings: Settings;
  readonly #calls: Calls;
  readonly #owed = new Map<string, Owed>();
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
    this.#settings = new Settings(memory);
    this.#calls = new Calls(memory);
    this.actions = createCommands((customerId, number) => this.#settings.of(customerId, number), clock);
    this.phones = createPeople({
      settings: this.#settings,
      calls: this.#calls,
      tell: (signal) => this.#tell(signal),
      changed: (customerId, number) => this.#wake(customerId, number),
      drop: (customerId) => this.#drop(customerId),
    });
  }

  async start(signals: (signal: Signal) => Promise<Applied>): Promise<void> {
    this.#signals = signals;
    await Promise.all([this.#settings.load(), this.#calls.load()]);
    const entries = await this.#memory.list(OWED_PREFIX);
    const unspent = new Set(entries.map(({ key }) => key));
    const now = this.#clock.real();
    for (const [index, { key, value }] of entries.entries()) {
      const owed = parseOwed(key, value);
      if (owed === null || this.#owed.has(key)) continue;
      owed.beginsAt = Math.max(owed.beginsAt, now + Math.floor(index / RESUMED_PER_MS));
      this.#adopt(owed, unspent);
    }
    const left = [...unspent].filter((key) => !unspent.has(entryOfToken(key) ?? key));
    // Keys of an entry that never came to be: its message is not taken.
    await Promise.all(left.map((key) => this.#memory.delete(key)));
  }

  async send(message: Outbound, abort: AbortSignal): Promise<Outcome> {
    const settings = this.#settings.of(message.customerId, message.to);
    const line = lineOf(message.to, message.channel, settings);
    if (!line.takes) {
      return { outcome: "rejected", code: line.code, reason: line.reason, notReachable: line.notReachable };
    }
    if (message.attempt <= line.deferrals) return deferred("the recipient's phone is busy for the moment");
    const resets = this.#resets.get(message.customerId);
    const takesAfterMs = Math.min(line.takesAfterMs, settings.latencyMs);
    if (takesAfterMs > 0) await this.#pause(takesAfterMs, abort);
    if (this.#stopped || abort.aborted) return deferred("called off before the recipient's phone took it");
    if (resets !== this.#resets.get(message.customerId)) return deferred(RESET);
    const known = this.#owed.get(owedKey(message.messageId, message.channel));
    if (known === undefined) return this.#take(message, line);
    if (known.isEnding) return deferred("the hand-over before this one is being forgotten", RETRY_AFTER_MS);
    return this.#confirm(known);
  }

  async reconcile(message: Outbound): Promise<Outcome | "absent"> {
    const key = owedKey(message.messageId, message.channel);
    const known = this.#owed.get(key);
    if (known !== undefined && (await known.stored)) return this.#confirm(known);
    const entries = await this.#memory.list(key);
    const entry = entries.find((candidate) => candidate.key === key);
    const found = this.#owed.get(key) ?? (entry === undefined ? null : parseOwed(key, entry.value));
    if (found === null) return "absent";
    if (!this.#owed.has(key)) this.#adopt(found, new Set(entries.map((candidate) => candidate.key)));
    return this.#confirm(found);
  }

  async health(): Promise<Health> {
    return this.#stopped ? { status: "unhealthy", message: "the sandbox is stopped" } : { status: "healthy" };
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const end of this.#pauses) end();
    for (const owed of this.#owed.values()) owed.stopTimer();
    await Promise.allSettled(this.#inFlight);
  }

  /** The phone takes the message: on disk before anyone hears of it, so that what it owes outlives the process. */
  async #take(message: Outbound, line: Taking): Promise<Outcome> {
    if (this.#owed.size >= OWED_MAX) return deferred(`receipts of ${OWED_MAX} messages are owed`, FULL_RETRY_AFTER_MS);
    const answers = line.answer === "accepted";
    const now = this.#clock.real();
    const steps = stepsFor(line, message, this.#settings.of(message.customerId, message.to));
    const owed = newOwed(message, answers ? now : now + ASKED_WITHIN_MS, steps);
    this.#owed.set(owed.key, owed);
    owed.stored = this.#track(this.#store(owed, tokens(owed)));
    if (!(await owed.stored)) {
      this.#owed.delete(owed.key);
      return { outcome: "unknown", reason: "whether the recipient's phone took it could not be stored" };
    }
    if (this.#owed.get(owed.key) !== owed) return deferred(RESET);
    if (answers) owed.beginsAt = this.#clock.real();
    this.#arm(owed);
    return answers ? accepted(owed) : { outcome: "unknown", reason: "the recipient's phone did not answer in time" };
  }

  /** Someone asks about a message that was taken: a phone that waited for that begins with its receipts. */
  async #confirm(owed: Owed): Promise<Outcome> {
    if (!(await owed.stored)) return { outcome: "unknown", reason: "whether it was taken could not be stored" };
    const now = this.#clock.real();
    if (owed.told === 0 && owed.beginsAt > now) {
      owed.beginsAt = now;
      owed.stopTimer();
      // That it was taken is stored already: should this fail, a restart only waits longer with the receipts.
      await this.#track(this.#store(owed));
      this.#arm(owed);
    }
    return accepted(owed);
  }

  /** Takes up an entry that is in memory; `unspent` are the keys found there. */
  #adopt(owed: Owed, unspent: ReadonlySet<string>): void {
    owed.spent = new Set(tokens(owed).filter((index) => !unspent.has(tokenKey(owed, index))));
    this.#owed.set(owed.key, owed);
    this.#arm(owed);
  }

  /** The entry comes last: once it is there, so is what belongs to it. */
  async #store(owed: Owed, withTokens: readonly number[] = []): Promise<boolean> {
    try {
      const keys = withTokens.map((index) => tokenKey(owed, index));
      await Promise.all(keys.map((key) => this.#memory.put(key, "")));
      await this.#memory.put(owed.key, owedText(owed));
      return true;
    } catch {
      return false;
    }
  }

  /** Sets the time of the next step, unless the phone is not online. The last one also ends the entry in memory. */
  #arm(owed: Owed): void {
    owed.stopTimer();
    while (owed.spent.has(owed.told)) owed.told += 1;
    const step = owed.steps[owed.told];
    if (this.#stopped || step === undefined || this.#holds(owed)) return;
    const next = () => {
      owed.telling = this.#track(this.#proceed(owed, step));
    };
    owed.stopTimer = this.#clock.after(this.#waitMs(owed, step), next);
  }

  /** Whether it has to wait for its phone to be online. */
  #holds(owed: Owed): boolean {
    const { customerId, number } = owed.phone;
    owed.isHeld = !this.#settings.of(customerId, number).online;
    return owed.isHeld;
  }

  #waitMs(owed: Owed, step: Step): number {
    if (owed.failures > 0) return doublingMs(owed.failures, RETRY_AFTER_MS, RETRY_AFTER_MS_MAX);
    const { customerId, number } = owed.phone;
    const latencyMs = "receipt" in step ? this.#settings.of(customerId, number).latencyMs : 0;
    const afterMs = step.afterMs + latencyMs;
    if (owed.told > 0) return afterMs;
    return Math.min(Math.max(0, owed.beginsAt + afterMs - this.#clock.real()), WAIT_MS_MAX);
  }

  async #proceed(owed: Owed, step: Step): Promise<void> {
    if (this.#holds(owed)) return;
    owed.isEnding = owed.told === owed.steps.length - 1;
    try {
      await this.#signals({ ...signalOf(owed, owed.told, step), ...forgetting(owed) });
      owed.told += 1;
      owed.failures = 0;
    } catch {
      owed.failures += 1;
    }
    if (owed.told === owed.steps.length) this.#owed.delete(owed.key);
    else if (this.#owed.get(owed.key) === owed) this.#arm(owed);
  }

  /** A phone was set: what it held while it was not online goes on. */
  #wake(customerId: CustomerId, number: string): void {
    for (const owed of this.#owed.values()) {
      const { phone } = owed;
      if (phone.number === number && phone.customerId === customerId && owed.isHeld) this.#arm(owed);
    }
  }

  /** Forgets what is owed for a customer's messages, and what is being handed over: its messages are gone. */
  async #drop(customerId: CustomerId): Promise<void> {
    this.#resets.set(customerId, (this.#resets.get(customerId) ?? 0) + 1);
    const dropped = [...this.#owed.values()].filter(({ phone }) => phone.customerId === customerId);
    for (const owed of dropped) {
      owed.stopTimer();
      this.#owed.delete(owed.key);
    }
    await Promise.all(dropped.flatMap((owed) => [owed.stored, owed.telling]));
    const keys = dropped.flatMap((owed) => [owed.key, ...tokens(owed).map((index) => tokenKey(owed, index))]);
    await Promise.all(keys.map((key) => this.#memory.delete(key)));
  }

  /** Tells what a person does. */
  async #tell(signal: Signal): Promise<void> {
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
function forgetting(owed: Owed): { forget?: string } {
  if (owed.isEnding) return { forget: owed.key };
  return tokens(owed).includes(owed.told) ? { forget: tokenKey(owed, owed.told) } : {};
}

function accepted(owed: Owed): Outcome {
  return { outcome: "accepted", reference: referenceOf(owed) };
}

/** `retryAfterMs` null: when is left to whoever asks again. */
function deferred(reason: string, retryAfterMs: number | null = null): Outcome {
  return { outcome: "deferred", retryAfterMs, reason };
}
