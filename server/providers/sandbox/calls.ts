/** FaceTime calls from the sandbox's phones. A call that nobody ends ends by itself, by the service's clock and also across a restart. */

import type { CallAction, CallStatus } from "../../../sdk/wire.ts";
import type { Clock } from "../../clock.ts";
import type { CustomerId } from "../../core/id.ts";
import { SerialQueue } from "../../core/serial-queue.ts";
import type { Phone } from "../phones.ts";
import type { Memory } from "../provider.ts";

/** Prefix of the keys of current calls; customer, phone and called number follow. */
const PREFIX = "call/";

/** A current call. */
export interface SandboxCall {
  callUuid: string;
  status: CallStatus;
  isVideo: boolean;
}

/** A call that goes on, as it is stored. */
interface CurrentCall extends SandboxCall {
  phone: Phone;
  /** When it began to have its status, by the service's clock. */
  since: number;
}

/** How long a call rings, or is talked in, before it ends by itself, in milliseconds of the service's clock. */
const LASTS_MS = 60_000;
/** Interval of the looks for calls that end, in real milliseconds: the service's clock may be moved at any time. */
const LOOK_EVERY_MS = 250;

/** Next status of a call after an action; null if the action is not possible. */
const NEXT: Readonly<Record<Exclude<CallAction, "ring">, (status: CallStatus) => CallStatus | null>> = {
  answer: (status) => (status === "incoming" ? "answered" : null),
  hangup: () => "disconnected",
  miss: (status) => (status === "incoming" ? "missed" : null),
};

export interface SandboxCallsOptions {
  memory: Memory;
  clock: Clock;
  /** Reports the new state of a call, and deletes the given key of the memory with it when the call ends. */
  report: (phone: Phone, call: SandboxCall, forget: string | null) => Promise<void>;
}

/** Current calls of all customers. Call `load` first. */
export class SandboxCalls {
  readonly #options: SandboxCallsOptions;
  readonly #calls = new Map<string, CurrentCall>();
  readonly #turns = new SerialQueue();
  #stopTimer: (() => void) | null = null;
  #isStopped = false;

  constructor(options: SandboxCallsOptions) {
    this.#options = options;
  }

  /** Reads the calls that the previous process left. */
  async load(): Promise<void> {
    for (const { key, value } of await this.#options.memory.list(PREFIX)) {
      const call = parse(value);
      if (call !== null) this.#calls.set(key, call);
    }
    this.#watch();
  }

  /** Ends no more calls. The next process does. */
  stop(): void {
    this.#isStopped = true;
    this.#stopTimer?.();
  }

  /**
   * Does `action` with the call from `phone` and returns the call's new state; a new call gets `callUuid`. Returns null if the
   * action is not possible.
   */
  act(
    phone: Phone,
    callUuid: string,
    { action, isVideo }: { action: CallAction; isVideo: boolean },
  ): Promise<SandboxCall | null> {
    const key = keyOf(phone);
    return this.#turns.run(key, async () => {
      const before = this.#calls.get(key);
      const after = action === "ring" ? ring(before, callUuid, isVideo) : next(before, action);
      if (after !== null) await this.#become(key, phone, after);
      return after;
    });
  }

  async #become(key: string, phone: Phone, { callUuid, status, isVideo }: SandboxCall): Promise<void> {
    const { memory, clock, report } = this.#options;
    const before = this.#calls.get(key);
    // Ringing again is a repeat.
    const since = before?.status === status ? before.since : clock.now();
    const call: CurrentCall = { callUuid, status, isVideo, phone, since };
    const goesOn = status === "incoming" || status === "answered";
    // Stored before it is reported, so that a ringing call can be ended by the next process too.
    if (goesOn) await memory.put(key, JSON.stringify(call));
    await report(phone, call, goesOn ? null : key);
    if (goesOn) this.#calls.set(key, call);
    else this.#calls.delete(key);
    this.#watch();
  }

  /** Looks for calls that end, while there are any. */
  #watch(): void {
    if (this.#isStopped || this.#stopTimer !== null || this.#calls.size === 0) return;
    this.#stopTimer = this.#options.clock.after(LOOK_EVERY_MS, () => {
      const ended = [...this.#calls.keys()].map((key) => this.#turns.run(key, () => this.#endIfOver(key)));
      // An end that could not be reported is tried again at the next look.
      void Promise.allSettled(ended).then(() => {
        this.#stopTimer = null;
        this.#watch();
      });
    });
  }

  async #endIfOver(key: string): Promise<void> {
    const call = this.#calls.get(key);
    if (call === undefined || this.#isStopped) return;
    const now = this.#options.clock.now();
    // The clock was set back: the time begins anew.
    if (now < call.since) this.#calls.set(key, { ...call, since: now });
    if (now - call.since < LASTS_MS) return;
    const over = next(call, call.status === "incoming" ? "miss" : "hangup");
    if (over !== null) await this.#become(key, call.phone, over);
  }

  /** Drops the calls of a customer. */
  async reset(customerId: CustomerId): Promise<void> {
    const keys = [...this.#calls.keys()].filter((key) => key.startsWith(`${PREFIX}${customerId}/`));
    for (const key of keys) this.#calls.delete(key);
    await Promise.all(keys.map((key) => this.#options.memory.delete(key)));
  }
}

function keyOf({ customerId, number, to }: Phone): string {
  return `${PREFIX}${customerId}/${number}/${to}`;
}

/** Ringing again with the same id is a repeat. A different current call makes ringing impossible. */
function ring(before: SandboxCall | undefined, callUuid: string, isVideo: boolean): SandboxCall | null {
  if (before === undefined) return { callUuid, status: "incoming", isVideo };
  return before.callUuid === callUuid ? before : null;
}

function next(before: SandboxCall | undefined, action: Exclude<CallAction, "ring">): SandboxCall | null {
  const status = before === undefined ? null : NEXT[action](before.status);
  return before === undefined || status === null ? null : { ...before, status };
}

function parse(text: string): CurrentCall | null {
  try {
    const value = JSON.parse(text) as Partial<CurrentCall> | null;
    const { callUuid, status, isVideo, phone, since } = value ?? {};
    if (typeof callUuid !== "string" || typeof isVideo !== "boolean") return null;
    if (phone === undefined || typeof since !== "number") return null;
    return status === "incoming" || status === "answered" ? { callUuid, status, isVideo, phone, since } : null;
  } catch {
    return null;
  }
}
