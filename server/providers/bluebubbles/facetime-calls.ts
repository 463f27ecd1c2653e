/** FaceTime calls as the Mac tells of them, in both of its forms. Keeps those that ring in memory until they end. */

import { createHash } from "node:crypto";
import type { CallStatus } from "../../../sdk/wire.ts";
import { setBounded } from "../../core/bounded-map.ts";
import { numberOf, recordOf, textOf } from "../../core/loose-json.ts";
import type { CallSignal, ProviderContext } from "../provider.ts";

const PREFIX = "call/";

/** A call that only ever comes in is told of again while it rings; without that for so long it rings no more. */
const RINGS_MS = 60_000;
/** Callers who ring at once; one more ends the first. */
const RINGING_MAX = 100;
/** Calls that are remembered as answered. */
const ANSWERED_MAX = 1_000;
/** No address of e-mail is longer (RFC 5321, 4.5.3.1). */
const NAME_LENGTH_MAX = 320;
/** An end that could not be told is told again after this. */
const AGAIN_AFTER_MS = 5_000;

/** `TUCallStatus`, as far as its meaning is known. */
const STATUS = { answered: 1, incoming: 4, disconnected: 6 } as const;

/** What a call tells, but for the address of ours that it reaches. */
export type CallUpdate = Omit<CallSignal, "to" | "kind" | "channel">;

export interface FaceTimeCallsOptions {
  context: Pick<ProviderContext, "clock" | "memory" | "fault">;
  /** Tells; resolves when it is on disk. */
  report: (call: CallUpdate) => Promise<void>;
}

interface RingingCall {
  callUuid: string;
  stopTimer: () => void;
}

export class FaceTimeCalls {
  readonly #options: FaceTimeCallsOptions;
  /** Calls that nobody says the end of, by their caller. */
  readonly #open = new Map<string, RingingCall>();
  readonly #answered = new Map<string, true>();
  #stopped = false;

  constructor(options: FaceTimeCallsOptions) {
    this.#options = options;
  }

  /** Goes on with the calls that rang when the process ended. */
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
   * Takes an `incoming-facetime`: the same call is told of several times, without a name and without an end. It gets a
   * name here, and when it rings no more it was missed: nobody can have answered it through this service.
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

  /** Takes an `ft-call-status-changed`. One that ends without having been answered was missed. */
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

/** The Mac does not say whether there is a picture: FaceTime calls have one unless somebody turned it off. */
function callOf(caller: string, callUuid: string, status: CallStatus): CallUpdate {
  return { callUuid, caller, isVideo: true, isOutgoing: false, status };
}

/** An address or the name of a call, as long as such may be; null for anything else: it is kept on disk. */
function nameIn(value: unknown): string | null {
  const name = textOf(value) ?? "";
  return name === "" || name.length > NAME_LENGTH_MAX ? null : name;
}

/** A name for a call that the Mac gives none: nobody rings twice at the same moment. */
function nameOf(caller: string, at: number): string {
  return createHash("sha256").update(`${caller} ${at}`).digest("hex").slice(0, 32);
}
