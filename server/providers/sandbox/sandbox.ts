/** The sandbox: a channel whose peers are phones of our own. Keeps what its phones owe in memory; talks to no network. */

import type { Clock } from "../../clock.ts";
import type {
  Capabilities,
  Health,
  Memory,
  Outbound,
  Outcome,
  Provider,
  ProviderContext,
  Signal,
} from "../provider.ts";
import { newOwed, OWED_PREFIX, type Owed, owedKey, owedText, parseOwed, receiptOf, referenceOf } from "./owed.ts";
import { lineOf, type Step, stepsFor, type Taking } from "./phones.ts";

/** Both channels, and no rate of its own; `concurrency` bounds what a crash leaves half done. */
export const SANDBOX_CAPABILITIES: Capabilities = {
  channels: ["imessage", "sms"],
  concurrency: 64,
  settleAfterMs: 1_000,
  seesPayments: true,
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

/** The longest that a clock waits in one go. */
const WAIT_MS_MAX = 3_600_000;

/** A new sandbox, not started. */
export function createSandbox(context: ProviderContext): Provider {
  return new Sandbox(context.memory, context.clock);
}

class Sandbox implements Provider {
  readonly name = "sandbox";
  readonly capabilities = SANDBOX_CAPABILITIES;
  readonly #memory: Memory;
  readonly #clock: Clock;
  readonly #owed = new Map<string, Owed>();
  /** Ends of the pauses that hand-overs are in. */
  readonly #pauses = new Set<() => void>();
  readonly #inFlight = new Set<Promise<unknown>>();
  #stopped = false;
  #signals: (signal: Signal) => Promise<void> = () => Promise.reject(new Error("the sandbox is not started"));

  constructor(memory: Memory, clock: Clock) {
    this.#memory = memory;
    this.#clock = clock;
  }

  async start(signals: (signal: Signal) => Promise<void>): Promise<void> {
    this.#signals = signals;
    const entries = await this.#memory.list(OWED_PREFIX);
    const now = this.#clock.real();
    for (const [index, { key, value }] of entries.entries()) {
      const owed = parseOwed(key, value);
      if (owed === null || this.#owed.has(key)) continue;
      owed.beginsAt = Math.max(owed.beginsAt, now + Math.floor(index / RESUMED_PER_MS));
      this.#adopt(owed);
    }
  }

  async send(message: Outbound, abort: AbortSignal): Promise<Outcome> {
    const line = lineOf(message.to, message.channel);
    if (!line.takes) {
      return { outcome: "rejected", code: line.code, reason: line.reason, notReachable: line.notReachable };
    }
    if (message.attempt <= line.deferrals) return deferred("the recipient's phone is busy for the moment");
    if (line.takesAfterMs > 0) await this.#pause(line.takesAfterMs, abort);
    if (this.#stopped || abort.aborted) return deferred("called off before the recipient's phone took it");
    const known = this.#owed.get(owedKey(message.messageId, message.channel));
    if (known === undefined) return this.#take(message, line);
    if (known.isEnding) return deferred("the hand-over before this one is being forgotten", RETRY_AFTER_MS);
    return this.#confirm(known);
  }

  async settle(message: Outbound): Promise<Outcome | "absent"> {
    const key = owedKey(message.messageId, message.channel);
    const known = this.#owed.get(key);
    if (known !== undefined && (await known.stored)) return this.#confirm(known);
    const entry = (await this.#memory.list(key)).find((candidate) => candidate.key === key);
    const found = this.#owed.get(key) ?? (entry === undefined ? null : parseOwed(key, entry.value));
    if (found === null) return "absent";
    if (!this.#owed.has(key)) this.#adopt(found);
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

  /** The phone takes the message: on disk before anyone hears of it, so that its receipts outlive the process. */
  async #take(message: Outbound, line: Taking): Promise<Outcome> {
    if (this.#owed.size >= OWED_MAX) return deferred(`receipts of ${OWED_MAX} messages are owed`, FULL_RETRY_AFTER_MS);
    const answers = line.answer === "accepted";
    const now = this.#clock.real();
    const owed = newOwed(message, answers ? now : now + ASKED_WITHIN_MS, stepsFor(line, message.messageId));
    this.#owed.set(owed.key, owed);
    owed.stored = this.#track(this.#store(owed));
    if (!(await owed.stored)) {
      this.#owed.delete(owed.key);
      return { outcome: "unknown", reason: "whether the recipient's phone took it could not be stored" };
    }
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

  #adopt(owed: Owed): void {
    this.#owed.set(owed.key, owed);
    this.#arm(owed);
  }

  async #store(owed: Owed): Promise<boolean> {
    try {
      await this.#memory.put(owed.key, owedText(owed));
      return true;
    } catch {
      return false;
    }
  }

  /** Sets the time of the next receipt. The last one also ends the entry in memory. */
  #arm(owed: Owed): void {
    const step = owed.steps[owed.told];
    if (this.#stopped || step === undefined) return;
    const next = () => void this.#track(this.#proceed(owed, step));
    owed.stopTimer = this.#clock.after(this.#waitMs(owed, step), next);
  }

  #waitMs(owed: Owed, { afterMs }: Step): number {
    if (owed.failures > 0) return Math.min(RETRY_AFTER_MS * 2 ** (owed.failures - 1), RETRY_AFTER_MS_MAX);
    if (owed.told > 0) return afterMs;
    return Math.min(Math.max(0, owed.beginsAt + afterMs - this.#clock.real()), WAIT_MS_MAX);
  }

  async #proceed(owed: Owed, step: Step): Promise<void> {
    owed.isEnding = owed.told === owed.steps.length - 1;
    try {
      await this.#signals({ ...receiptOf(owed, step), ...(owed.isEnding ? { forget: owed.key } : {}) });
      owed.told += 1;
      owed.failures = 0;
    } catch {
      owed.failures += 1;
    }
    if (owed.told === owed.steps.length) this.#owed.delete(owed.key);
    else this.#arm(owed);
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

function accepted(owed: Owed): Outcome {
  return { outcome: "accepted", reference: referenceOf(owed) };
}

/** `retryAfterMs` null: when is left to whoever asks again. */
function deferred(reason: string, retryAfterMs: number | null = null): Outcome {
  return { outcome: "deferred", retryAfterMs, reason };
}
