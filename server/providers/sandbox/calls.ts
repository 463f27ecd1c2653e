/** The calls that people make from the sandbox's phones: each goes on until somebody ends it, also over a restart. */

import type { CallAction, CallStatus } from "../../../sdk/wire.ts";
import type { CustomerId } from "../../core/id.ts";
import type { Phone } from "../phones.ts";
import type { Memory } from "../provider.ts";

/** Every key of a call that goes on begins with it; then come customer, phone and the number called. */
const PREFIX = "call/";

/** A call that goes on. */
export interface SandboxCall {
  callUuid: string;
  status: CallStatus;
  isVideo: boolean;
}

/** What an action makes of a call; null where there is none to do it to. */
const NEXT: Readonly<Record<Exclude<CallAction, "ring">, (status: CallStatus) => CallStatus | null>> = {
  answer: (status) => (status === "incoming" ? "answered" : null),
  hangup: () => "disconnected",
  miss: (status) => (status === "incoming" ? "missed" : null),
};

/** The calls that go on, from `load` on. */
export class SandboxCalls {
  readonly #memory: Memory;
  readonly #calls = new Map<string, SandboxCall>();

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  /** Takes up what the last process left. */
  async load(): Promise<void> {
    for (const { key, value } of await this.#memory.list(PREFIX)) {
      const call = parse(value);
      if (call !== null) this.#calls.set(key, call);
    }
  }

  /**
   * The call from `phone` as it is after `action`, a new one under `callUuid`; null where it cannot be done. `tell` is
   * to tell of it, and to forget the key it is given with that, where the call is over.
   */
  async act(
    phone: Phone,
    callUuid: string,
    { action, isVideo }: { action: CallAction; isVideo: boolean },
    tell: (call: SandboxCall, forget: string | null) => Promise<void>,
  ): Promise<SandboxCall | null> {
    const key = keyOf(phone);
    const before = this.#calls.get(key);
    const after = action === "ring" ? ring(before, callUuid, isVideo) : next(before, action);
    if (after === null) return null;
    const goesOn = after.status === "incoming" || after.status === "answered";
    // Before it is told: a call that rings can be ended, whatever becomes of this process.
    if (goesOn) await this.#memory.put(key, JSON.stringify(after));
    await tell(after, goesOn ? null : key);
    if (goesOn) this.#calls.set(key, after);
    else this.#calls.delete(key);
    return after;
  }

  /** Forgets the calls of a customer. */
  async reset(customerId: CustomerId): Promise<void> {
    const keys = [...this.#calls.keys()].filter((key) => key.startsWith(`${PREFIX}${customerId}/`));
    for (const key of keys) this.#calls.delete(key);
    await Promise.all(keys.map((key) => this.#memory.delete(key)));
  }
}

function keyOf({ customerId, number, to }: Phone): string {
  return `${PREFIX}${customerId}/${number}/${to}`;
}

/** Under the name that it has already it is the same call; another one that goes on is in the way. */
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
