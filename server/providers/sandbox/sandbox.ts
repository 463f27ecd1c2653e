/** The sandbox provider: simulates phones on both channels, without a network. Journals their pending signals. */

import type { Clock } from "../../clock.ts";
import type { CustomerId } from "../../core/id.ts";
import { doublingMs } from "../../core/retry.ts";
import { InFlight } from "../kit/in-flight.ts";
import type { Phones } from "../phones.ts";
import type {
  Actions,
  Applied,
  Capabilities,
  Health,
  Memory,
  Outbound,
  Outcome,
  OutcomeMemory,
  Provider,
  ProviderContext,
  Signal,
} from "../provider.ts";
import { createActions } from "./actions.ts";
import { SandboxCalls } from "./calls.ts";
import { LateFiles } from "./late-files.ts";
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
import { callOf, signalOf } from "./signals.ts";

/** No rate limit; `concurrency` bounds the attempts that a crash can interrupt. */
export const SANDBOX_CAPABILITIES: Capabilities = {
  channels: ["imessage", "sms"],
  // As over SMPP, so that both ways of a message with files can be tried.
  smsFiles: "none",
  concurrency: 64,
  sendTimeoutMs: 40_000,
  reconcileAfterMs: 1_000,
  seesPayments: true,
  emojiReactions: true,
  takesRuns: true,
};

/** Limit of messages with pending signals; further messages are deferred. */
const PENDING_MAX = 100_000;
const FULL_RETRY_AFTER_MS = 1_000;

/** A phone whose response got lost waits this long for reconciliation before it reports receipts by itself. */
const ASKED_WITHIN_MS = 600_000;

/** Pending signals found at a start are reported at this rate per millisecond. */
const RESUMED_PER_MS = 4;

/** Delay before a report is retried; it doubles up to the maximum. */
const RETRY_AFTER_MS = 50;
const RETRY_AFTER_MS_MAX = 5_000;

const RESET = "the phones were reset before the message was accepted";

const NEVER_ABORTED = new AbortController().signal;

/** Longest timer. */
const WAIT_MS_MAX = 3_600_000;

/** Creates the sandbox. It begins with `start`. */
export function createSandbox(context: ProviderContext): Provider & { actions: Actions; phones: Phones } {
  return new Sandbox(context);
}

class Sandbox implements Provider {
  readonly name = "sandbox";
  readonly capabilities = SANDBOX_CAPABILITIES;
  readonly actions: Actions;
  readonly phones: Phones;
  readonly #memory: Memory;
  readonly #clock: Clock;
  readonly #eventReceived: () => void;
  readonly #settings: SandboxSettings;
  readonly #calls: SandboxCalls;
  readonly #pending = new Map<string, PendingSignals>();
  /** Ends the pauses of attempts in progress. */
  readonly #pauses = new Set<() => void>();
  readonly #lateFiles: LateFiles;
  readonly #inFlight = new InFlight();
  /** Resets per customer. An attempt that began before a reset is not accepted after it. */
  readonly #resets = new Map<CustomerId, number>();
  #stopped = false;
  #signals: (signal: Signal) => Promise<Applied> = () => Promise.reject(new Error("the sandbox is not started"));

  constructor({ memory, clock, eventReceived, optOutWordsAt }: ProviderContext) {
    this.#memory = memory;
    this.#clock = clock;
    this.#eventReceived = eventReceived;
    this.#settings = new SandboxSettings(memory);
    this.#calls = new SandboxCalls({
      memory,
      clock,
      report: (phone, call, forget) =>
        this.#report({ ...callOf(phone, call.callUuid, call), ...(forget === null ? {} : { forget }) }),
    });
    this.#lateFiles = new LateFiles(clock);
    this.actions = createActions((customerId, number) => this.#settings.of(customerId, number), clock);
    this.phones = createPeople({
      settings: this.#settings,
      calls: this.#calls,
      lateFiles: this.#lateFiles,
      report: (signal) => this.#report(signal),
      optOutWordsAt,
      pause: (ms) => this.#pause(ms, NEVER_ABORTED),
      changed: (customerId, number) => this.#wake(customerId, number),
      drop: (customerId) => this.#drop(customerId),
    });
  }

  async start(signals: (signal: Signal) => Promise<Applied>): Promise<void> {
    this.#signals = (signal) => {
      this.#eventReceived();
      return signals(signal);
    };
    await Promise.all([this.#settings.load(), this.#calls.load()]);
    const entries = await this.#memory.list(JOURNAL_PREFIX);
    const openKeys = new Set(entries.map(({ key }) => key));
    const now = this.#clock.real();
    for (const [index, { key, value }] of entries.entries()) {
      const pending = parseEntry(key, value);
      if (pending === null || this.#pending.has(key)) continue;
      pending.beginsAt = Math.max(pending.beginsAt, now + Math.floor(index / RESUMED_PER_MS));
      this.#adopt(pending, openKeys);
    }
    const left = [...openKeys].filter((key) => !openKeys.has(entryOfStepKey(key) ?? key));
    // Step keys without an entry: the process died before it stored the entry, so the message was not accepted.
    await Promise.all(left.map((key) => this.#memory.delete(key)));
  }

  async send(message: Outbound, abort: AbortSignal): Promise<Outcome> {
    const settings = this.#settings.of(message.customerId, message.to);
    const line = lineOf(message.to, message.channel, settings);
    if (!line.accepts) {
      return { outcome: "rejected", code: line.code, reason: line.reason, notReachable: line.notReachable };
    }
    if (message.attempt <= line.deferrals) return deferred("the recipient's phone is busy");
    const resets = this.#resets.get(message.customerId);
    const takesAfterMs = Math.min(line.acceptsAfterMs, settings.latencyMs);
    if (takesAfterMs > 0) await this.#pause(takesAfterMs, abort);
    if (this.#stopped || abort.aborted)
      return deferred("the attempt was aborted before the phone accepted the message");
    if (resets !== this.#resets.get(message.customerId)) return deferred(RESET);
    const known = this.#pending.get(entryKey(message.messageId, message.channel));
    if (known === undefined) return this.#accept(message, line);
    if (known.isEnding) return deferred("the previous attempt is being deleted", RETRY_AFTER_MS);
    return this.#confirm(known);
  }

  async reconcile(message: Outbound): Promise<Outcome | "absent"> {
    const key = entryKey(message.messageId, message.channel);
    const known = this.#pending.get(key);
    if (known !== undefined) return this.#confirm(known);
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
    this.#lateFiles.stop();
    this.#calls.stop();
    for (const pending of this.#pending.values()) pending.stopTimer();
    await this.#inFlight.ended();
  }

  /** Accepts a message. Its journal entry is committed with the outcome, so its signals survive a crash; none is reported before. */
  #accept(message: Outbound, line: AcceptingLine): Outcome {
    if (this.#pending.size >= PENDING_MAX)
      return deferred(`${PENDING_MAX} messages have pending signals`, FULL_RETRY_AFTER_MS);
    const responds = line.outcome === "accepted";
    const now = this.#clock.real();
    const steps = stepsFor(line, message, this.#settings.of(message.customerId, message.to));
    const pending = newEntry(message, responds ? now : now + ASKED_WITHIN_MS, steps);
    this.#pending.set(pending.key, pending);
    const memory = this.#memoryOf(pending, pending.beginsAt);
    return responds
      ? { ...accepted(pending), memory }
      : { outcome: "unknown", reason: "the recipient's phone did not respond in time", memory };
  }

  /**
   * The journal entry with its begin, for the transaction of the outcome, and its step keys with the first one: later some of
   * those steps may have been reported.
   */
  #memoryOf(pending: PendingSignals, beginsAt: number): OutcomeMemory {
    const steps = pending.isStored ? [] : stepsWithKey(pending);
    const keys = steps.map((index) => ({ key: stepKey(pending, index), value: "" }));
    const entries = [...keys, { key: pending.key, value: formatEntry({ ...pending, beginsAt }) }];
    return { entries, stored: () => this.#stored(pending, beginsAt) };
  }

  #stored(pending: PendingSignals, beginsAt: number): void {
    const known = this.#pending.get(pending.key);
    if (known === undefined) {
      // The phones were reset meanwhile, or the last receipt was reported.
      void this.#inFlight.track(this.#forget([pending])).catch(() => {});
    }
    const now = this.#clock.real();
    const hasBegun = pending.isStored && (pending.reported > 0 || pending.beginsAt <= now);
    pending.isStored = true;
    if (known !== pending || hasBegun) return;
    pending.beginsAt = Math.max(beginsAt, now);
    this.#arm(pending);
  }

  /**
   * Confirms an accepted message. A phone whose response got lost begins with its receipts as soon as that is on disk: the
   * entry with its new begin is committed with the outcome, so that nobody asks about a message whose receipts still wait.
   */
  #confirm(pending: PendingSignals): Outcome {
    const now = this.#clock.real();
    const waits = pending.reported === 0 && pending.beginsAt > now;
    if (pending.isStored && !waits) return accepted(pending);
    return { ...accepted(pending), memory: this.#memoryOf(pending, Math.min(pending.beginsAt, now)) };
  }

  /** Resumes a journal entry. `openKeys` holds the keys found in the journal. */
  #adopt(pending: PendingSignals, openKeys: ReadonlySet<string>): void {
    pending.isStored = true;
    pending.spent = new Set(stepsWithKey(pending).filter((index) => !openKeys.has(stepKey(pending, index))));
    this.#pending.set(pending.key, pending);
    this.#arm(pending);
  }

  /** Deletes journal entries. */
  async #forget(dropped: readonly PendingSignals[]): Promise<void> {
    const keys = dropped.flatMap((pending) => [
      pending.key,
      ...stepsWithKey(pending).map((index) => stepKey(pending, index)),
    ]);
    await Promise.all(keys.map((key) => this.#memory.delete(key)));
  }

  /** Schedules the next step, unless the phone is offline. The last step also deletes the entry. */
  #arm(pending: PendingSignals): void {
    pending.stopTimer();
    while (pending.spent.has(pending.reported)) pending.reported += 1;
    const step = pending.steps[pending.reported];
    if (this.#stopped || step === undefined || this.#waitsForPhone(pending)) return;
    const next = () => {
      pending.reporting = this.#inFlight.track(this.#proceed(pending, step));
    };
    pending.stopTimer = this.#clock.after(this.#waitMs(pending, step), next);
  }

  /** Whether the entry must wait until its phone is online. */
  #waitsForPhone(pending: PendingSignals): boolean {
    const { customerId, number } = pending.phone;
    pending.isWaitingForPhone = !this.#settings.of(customerId, number).online;
    return pending.isWaitingForPhone;
  }

  #waitMs(pending: PendingSignals, step: PhoneStep): number {
    if (pending.failures > 0) return doublingMs(pending.failures, RETRY_AFTER_MS, RETRY_AFTER_MS_MAX);
    const { customerId, number } = pending.phone;
    const latencyMs = "receipt" in step ? this.#settings.of(customerId, number).latencyMs : 0;
    const afterMs = step.afterMs + latencyMs;
    if (pending.reported > 0) return afterMs;
    return Math.min(Math.max(0, pending.beginsAt + afterMs - this.#clock.real()), WAIT_MS_MAX);
  }

  async #proceed(pending: PendingSignals, step: PhoneStep): Promise<void> {
    if (this.#waitsForPhone(pending)) return;
    pending.isEnding = pending.reported === pending.steps.length - 1;
    try {
      await this.#signals({ ...signalOf(pending, pending.reported, step), ...forgetting(pending) });
      pending.reported += 1;
      pending.failures = 0;
    } catch {
      pending.failures += 1;
    }
    if (pending.reported === pending.steps.length) this.#pending.delete(pending.key);
    else if (this.#pending.get(pending.key) === pending) this.#arm(pending);
  }

  /** A phone's settings changed: continues the steps that waited for the phone to be online. */
  #wake(customerId: CustomerId, number: string): void {
    for (const pending of this.#pending.values()) {
      const { phone } = pending;
      if (phone.number === number && phone.customerId === customerId && pending.isWaitingForPhone) this.#arm(pending);
    }
  }

  /** Drops a customer's pending signals and the attempts in progress: the customer's messages are gone. */
  async #drop(customerId: CustomerId): Promise<void> {
    this.#resets.set(customerId, (this.#resets.get(customerId) ?? 0) + 1);
    const dropped = [...this.#pending.values()].filter(({ phone }) => phone.customerId === customerId);
    for (const pending of dropped) {
      pending.stopTimer();
      this.#pending.delete(pending.key);
    }
    await Promise.all(dropped.map((pending) => pending.reporting));
    await this.#forget(dropped);
  }

  /** Reports what a person does. */
  async #report(signal: Signal): Promise<void> {
    if (this.#stopped) throw new Error("the sandbox is stopped");
    await this.#inFlight.track(this.#signals(signal));
  }

  /** Resolves after `ms`, or as soon as the attempt is aborted or the sandbox stops. */
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
}

/** Key to delete with the next step: the entry with the last step, otherwise the step's own key. */
function forgetting(pending: PendingSignals): { forget?: string } {
  if (pending.isEnding) return { forget: pending.key };
  return stepsWithKey(pending).includes(pending.reported) ? { forget: stepKey(pending, pending.reported) } : {};
}

function accepted(pending: PendingSignals): { outcome: "accepted"; reference: string } {
  return { outcome: "accepted", reference: referenceOf(pending) };
}

/** `retryAfterMs` null: the engine decides when to retry. */
function deferred(reason: string, retryAfterMs: number | null = null): Outcome {
  return { outcome: "deferred", retryAfterMs, reason };
}
