/** FaceTime calls from the sandbox's phones. A call lasts until somebody ends it, also across a restart. */

import type { CallAction, CallStatus } from "../../../sdk/wire.ts";
import type { CustomerId } from "../../core/id.ts";
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

/** Next status of a call after an action; null if the action is not possible. */
const NEXT: Readonly<Record<Exclude<CallAction, "ring">, (status: CallStatus) => CallStatus | null>> = {
  answer: (status) => (status === "incoming" ? "answered" : null),
  hangup: () => "disconnected",
  miss: (status) => (status === "incoming" ? "missed" : null),
};

/** Current calls of all customers. Call `load` first. */
export class SandboxCalls {
  readonly #memory: Memory;
  readonly #calls = new Map<string, SandboxCall>();

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  /** Reads the calls that the previous process left. */
  async load(): Promise<void> {
    for (const { key, value } of await this.#memory.list(PREFIX)) {
      const call = parse(value);
      if (call !== null) this.#calls.set(key, call);
    }
  }

  /**
   * Does `action` with the call from `phone` and returns the call's new state; a new call gets `callUuid`. Returns null if the
   * action is not possible. `report` reports the new state, and deletes the given key with it when the call ends.
   */
  async act(
    phone: Phone,
    callUuid: string,
    { action, isVideo }: { action: CallAction; isVideo: boolean },
    report: (call: SandboxCall, forget: string | null) => Promise<void>,
  ): Promise<SandboxCall | null> {
    const key = keyOf(phone);
    const before = this.#calls.get(key);
    const after = action === "ring" ? ring(before, callUuid, isVideo) : next(before, action);
    if (after === null) return null;
    const goesOn = after.status === "incoming" || after.status === "answered";
    // Stored before it is reported, so that a ringing call can be ended by the next process too.
    if (goesOn) await this.#memory.put(key, JSON.stringify(after));
    await report(after, goesOn ? null : key);
    if (goesOn) this.#calls.set(key, after);
    else this.#calls.delete(key);
    return after;
  }

  /** Drops the calls of a customer. */
  async reset(customerId: CustomerId): Promise<void> {
    const keys = [...this.#calls.keys()].filter((key) => key.startsWith(`${PREFIX}${customerId}/`));
    for (const key of keys) this.#calls.delete(key);
    await Promise.all(keys.map((key) => this.#memory.delete(key)));
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

function parse(text: string): SandboxCall | null {
  try {
    const value = JSON.parse(text) as Partial<SandboxCall> | null;
    const { callUuid, status, isVideo } = value ?? {};
    if (typeof callUuid !== "string" || typeof isVideo !== "boolean") return null;
    return status === "incoming" || status === "answered" ? { callUuid, status, isVideo } : null;
  } catch {
    return null;
  }
}
