/** Monitors whether the API accepts messages, by reading the account and by the responses to sends. */

import type { Clock } from "../../clock.ts";
import { doublingMs } from "../../core/retry.ts";
import { ConnectionMonitor } from "../kit/connection-monitor.ts";
import type { Api, NoResponse, TwilioResponse } from "./api.ts";
import { readAccountStatus } from "./records.ts";

/** The wait before the first check after a failure; it doubles up to the maximum. Real milliseconds. */
const LOOK_AGAIN_MS = 1_000;
const LOOK_AGAIN_MS_MAX = 60_000;
const ANSWER_MS = 10_000;
/** How often to check while all is well, and how long a result counts. */
const LOOK_MS = 30_000;
const FRESH_MS = 45_000;
/** The pause if the API does not name one; it doubles while the API keeps limiting. */
const PAUSE_MS = 1_000;
const PAUSE_MS_MAX = 60_000;

/** Calls `changed` whenever `isUp` has changed. */
export class AccountMonitor {
  readonly #clock: Clock;
  readonly #changed: () => void;
  readonly #connection: ConnectionMonitor<string>;
  #pausedUntil = 0;
  #pauses = 0;
  #stopPause = () => {};
  #stopped = false;

  /** `path` is the account's. */
  constructor({ api, clock, path, changed }: { api: Api; clock: Clock; path: string; changed: () => void }) {
    this.#clock = clock;
    this.#changed = changed;
    this.#connection = new ConnectionMonitor({
      clock,
      check: async () => troubleOf(await api.request({ method: "GET", path, timeoutMs: ANSWER_MS })),
      changed: () => {
        if (this.pausedMs === 0) changed();
      },
      everyMs: LOOK_MS,
      retryMs: LOOK_AGAIN_MS,
      retryMsMax: LOOK_AGAIN_MS_MAX,
    });
  }

  get isUp(): boolean {
    return this.#connection.isUp && this.pausedMs === 0;
  }

  /** How long to send no request yet, in milliseconds. */
  get pausedMs(): number {
    return Math.max(0, this.#pausedUntil - this.#clock.real());
  }

  /** A message was accepted. */
  succeeded(): void {
    this.#pauses = 0;
    this.#connection.reportUp();
  }

  /** Nothing can be sent, for a reason in words for an operator. */
  failed(trouble: string): void {
    this.#connection.reportDown(trouble);
  }

  /** A send got no response: checks whether the API is there. */
  suspect(): void {
    if (this.#connection.isUp) void this.check();
  }

  /** A signed request of Twilio arrived: an API that counts as down is checked at once. */
  eventReceived(): void {
    this.#connection.eventReceived();
  }

  /** The API limits the rate: pauses for `ms`, or for a growing time if that is null. Returns the pause. */
  pause(ms: number | null): number {
    const waitMs = ms ?? doublingMs(this.#pauses + 1, PAUSE_MS, PAUSE_MS_MAX);
    this.#pauses += 1;
    const until = this.#clock.real() + waitMs;
    if (until <= this.#pausedUntil || this.#stopped) return waitMs;
    const wasUp = this.isUp;
    this.#pausedUntil = until;
    if (wasUp) this.#changed();
    this.#stopPause();
    this.#stopPause = this.#clock.after(waitMs, () => {
      this.#pausedUntil = 0;
      if (this.isUp) this.#changed();
    });
    return waitMs;
  }

  /** The present fault in words for an operator; null if there is none. Checks first if the last result is too old. */
  async currentTrouble(): Promise<string | null> {
    await this.#connection.checkIfOlder(FRESH_MS);
    return this.#connection.trouble;
  }

  /** Checks now. Concurrent calls share one check. */
  check(): Promise<void> {
    return this.#connection.check();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopPause();
    await this.#connection.stop();
  }
}

/** Explains by the response to a read of the account why the API cannot be used; null if it can. */
function troubleOf(answer: TwilioResponse | NoResponse): string | null {
  if ("noResponse" in answer) return `Twilio cannot be reached: ${answer.reason}.`;
  const { status } = answer;
  if (status === 401) return REFUSED;
  if (status === 404) return UNKNOWN_ACCOUNT;
  // The API is there and limits the rate. The next send will show whether it accepts messages.
  if (status === 429) return null;
  if (status !== 200) return `Twilio responds with ${status} instead of the account.`;
  const account = readAccountStatus(answer.body);
  if (account === null) return "The server at baseUrl is not Twilio's API.";
  return account === "active" ? null : `The account is ${account}: see Twilio's console for the reason.`;
}

/** The two mistakes in the settings that stop everything. */
export const REFUSED = "Twilio refuses the credentials: check accountSid and authToken.";
export const UNKNOWN_ACCOUNT = "There is no such account at Twilio: check accountSid, and baseUrl if it is set.";
