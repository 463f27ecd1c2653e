/** FaceTime calls, from both events that BlueBubbles has for them. Journals ringing calls until they end. */

import { createHash } from "node:crypto";
import type { CallStatus } from "../../../sdk/wire.ts";
import { setBounded } from "../../core/bounded-map.ts";
import { numberOf, recordOf, textOf } from "../../core/loose-json.ts";
import type { CallSignal, ProviderContext } from "../provider.ts";

const PREFIX = "call/";

/** BlueBubbles repeats `incoming-facetime` while a call rings. Without a repeat for this long, the call has ended. */
const RINGS_MS = 60_000;
/** Limit of callers that ring at once; one more ends the oldest. */
const RINGING_MAX = 100;
/** Limit of calls remembered as answered. */
const ANSWERED_MAX = 1_000;
/** Maximum length of an e-mail address (RFC 5321, 4.5.3.1). */
const NAME_LENGTH_MAX = 320;
/** Delay before the end of a call is reported again. */
const AGAIN_AFTER_MS = 5_000;

/** Known values of `TUCallStatus`. */
const STATUS = { answered: 1, incoming: 4, disconnected: 6 } as const;

/** Update of a call, without the own address that was called. */
export type CallUpdate = Omit<CallSignal, "to" | "kind" | "channel">;

export interface FaceTimeCallsOptions {
  context: Pick<ProviderContext, "clock" | "memory" | "fault">;
  /** Reports an update; resolves when it is on disk. */
  report: (call: CallUpdate) => Promise<void>;
}

interface RingingCall {
  callUuid: string;
  stopTimer: () => void;
}

export class FaceTimeCalls {
  readonly #options: FaceTimeCallsOptions;
  /** Ringing calls whose end no event reports, by caller. */
  readonly #open = new Map<string, RingingCall>();
  readonly #answered = new Map<string, true>();
  #stopped = false;

  constructor(options: FaceTimeCallsOptions) {
    this.#options = options;
  }

  /** Resumes the calls that rang when the previous process ended. */
  async start(): Promise<void> {
    for (const { key, value } of await this.#options.context.memory.list(PREFIX)) {
      this.#arm(key.slice(PREFIX.length), value, RINGS_MS);
    }
  }

  stop(): void {
    this.#stopped = true;
    for (const { stopTimer } of this.#open.values()) stopTimer();
  }

  /**
   * Handles `incoming-facetime`. The event repeats while the call rings, and has neither an id nor an end. The call gets an id
   * here and counts as missed when it stops ringing: nobody can answer it through this service.
   */
  async incoming(data: unknown): Promise<void> {
    const caller = nameIn(recordOf(data)?.caller);
    if (caller === null) return;
    const known = this.#open.get(caller);
    if (known !== undefined) {
      known.stopTimer();
      return this.#arm(caller, known.callUuid, RINGS_MS);
    }
    const callUuid = nameOf(caller, this.#options.context.clock.real());
    const [first] = this.#open.keys();
    if (this.#open.size >= RINGING_MAX && first !== undefined) await this.#end(first);
    this.#arm(caller, callUuid, RINGS_MS);
    await this.#options.context.memory.put(`${PREFIX}${caller}`, callUuid);
    await this.#options.report(callOf(caller, callUuid, "incoming"));
  }

  /** Handles `ft-call-status-changed`. A call that ends unanswered was missed. */
  async changed(data: unknown): Promise<void> {
    const record = recordOf(data);
    const callUuid = nameIn(record?.uuid);
    const caller = nameIn(record?.address) ?? nameIn(recordOf(record?.handle)?.address);
    if (record === null || callUuid === null || caller === null) return;
    const status = this.#statusOf(numberOf(record.status_id), callUuid, record.is_outgoing === true);
    if (status === null) return;
    const isVideo = record.is_video !== false;
    await this.#options.report({ callUuid, caller, isVideo, isOutgoing: record.is_outgoing === true, status });
  }

  #statusOf(id: number | null, callUuid: string, isOutgoing: boolean): CallStatus | null {
    switch (id) {
      case STATUS.incoming:
        return "incoming";
      case STATUS.answered:
        setBounded(this.#answered, callUuid, true, ANSWERED_MAX);
        return "answered";
      case STATUS.disconnected:
        return isOutgoing || this.#answered.has(callUuid) ? "disconnected" : "missed";
      default:
        return null;
    }
  }

  #arm(caller: string, callUuid: string, afterMs: number): void {
    const stopTimer = this.#stopped
      ? () => {}
      : this.#options.context.clock.after(afterMs, () => void this.#end(caller));
    this.#open.set(caller, { callUuid, stopTimer });
  }

  async #end(caller: string): Promise<void> {
    const open = this.#open.get(caller);
    if (open === undefined) return;
    open.stopTimer();
    this.#open.delete(caller);
    const forget = `${PREFIX}${caller}`;
    try {
      await this.#options.report({ ...callOf(caller, open.callUuid, "missed"), forget });
    } catch (error) {
      this.#options.context.fault(error);
      if (!this.#open.has(caller)) this.#arm(caller, open.callUuid, AGAIN_AFTER_MS);
    }
  }
}

/** The event does not say whether the call has video: FaceTime calls have video unless the caller turned it off. */
function callOf(caller: string, callUuid: string, status: CallStatus): CallUpdate {
  return { callUuid, caller, isVideo: true, isOutgoing: false, status };
}

/** An address or call id of limited length, since it is stored; null for anything else. */
function nameIn(value: unknown): string | null {
  const name = textOf(value) ?? "";
  return name === "" || name.length > NAME_LENGTH_MAX ? null : name;
}

/** Creates an id for a call without one. Nobody rings twice at the same moment. */
function nameOf(caller: string, at: number): string {
  return createHash("sha256").update(`${caller} ${at}`).digest("hex").slice(0, 32);
}
