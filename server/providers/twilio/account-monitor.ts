/** Whether the API takes messages at present: found out by asking for the account, and by what hand-overs are answered. */

import type { Clock } from "../../clock.ts";
import { doublingMs } from "../../core/retry.ts";
import type { Api, NoResponse, TwilioResponse } from "./api.ts";
import { readAccountStatus } from "./records.ts";

/** The first look after a trouble comes after this, the next after twice as long, up to the most; real milliseconds. */
const LOOK_AGAIN_MS = 1_000;
const LOOK_AGAIN_MS_MAX = 60_000;
const ANSWER_MS = 10_000;
/** How often it is looked while nothing is wrong; what was found is good for a little longer. */
const LOOK_MS = 30_000;
const FRESH_MS = 45_000;
/** How long to ask less when it does not say, doubling while it goes on. */
const PAUSE_MS = 1_000;
const PAUSE_MS_MAX = 60_000;

/** Says whether messages can be handed over. `changed` is called whenever that has changed. */
export class AccountMonitor {
  readonly #api: Api;
  readonly #clock: Clock;
  readonly #path: string;
  readonly #changed: () => void;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #trouble: string | null = null;
  #failures = 0;
  #checking: Promise<void> | null = null;
  #stopCheck = () => {};
  #pausedUntil = 0;
  #pauses = 0;
  #stopPause = () => {};
  #stopped = false;

  /** `path` is that of the account. */
  constructor(given: { api: Api; clock: Clock; path: string; changed: () => void }) {
    this.#api = given.api;
    this.#clock = given.clock;
    this.#path = given.path;
    this.#changed = given.changed;
  }

  get isUp(): boolean {
    return this.#trouble === null && this.pausedMs === 0;
  }

  /** What is wrong, in words for an operator; null while nothing is. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /** How much longer it is to be asked nothing, in milliseconds. */
  get pausedMs(): number {
    return Math.max(0, this.#pausedUntil - this.#clock.real());
  }

  /** A message was taken. */
  succeeded(): void {
    this.#pauses = 0;
    if (this.#trouble !== null) this.#found(null);
  }

  /** Nothing can be handed over: it is looked again, by and by, until it can. */
  failed(trouble: string): void {
    if (this.#trouble === null) this.#found(trouble);
    else this.#trouble = trouble;
  }

  /** A hand-over was not answered: is there still somebody? */
  suspect(): void {
    if (this.#trouble === null) void this.check();
  }

  /** It is asked too fast: nothing more for `ms`; null where it does not say for how long. Answers how long. */
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

  /** What is wrong; looks first where that is not known yet. */
  async currentTrouble(): Promise<string | null> {
    const isFresh = this.#clock.real() - this.#checkedAt < FRESH_MS;
    if (!isFresh && !this.#stopped) await this.check();
    return this.#trouble;
  }

  /** Looks now; those who ask meanwhile get the same answer. */
  check(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = null;
    });
    return this.#checking;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopCheck();
    this.#stopPause();
    await this.#checking;
  }

  async #check(): Promise<void> {
    const answer = await this.#api.request({ method: "GET", path: this.#path, timeoutMs: ANSWER_MS });
    if (this.#stopped) return;
    this.#checkedAt = this.#clock.real();
    this.#found(troubleOf(answer));
  }

  #found(trouble: string | null): void {
    const wasUp = this.isUp;
    this.#trouble = trouble;
    this.#failures = trouble === null ? 0 : this.#failures + 1;
    this.#stopCheck();
    if (this.#stopped) return;
    const waitMs = trouble === null ? LOOK_MS : doublingMs(this.#failures, LOOK_AGAIN_MS, LOOK_AGAIN_MS_MAX);
    this.#stopCheck = this.#clock.after(waitMs, () => void this.check());
    if (this.isUp !== wasUp) this.#changed();
  }
}

/** Why the API cannot be used, by its answer to the question for the account; null when it can. */
function troubleOf(answer: TwilioResponse | NoResponse): string | null {
  if ("noResponse" in answer) return `Twilio cannot be reached: ${answer.reason}.`;
  const { status } = answer;
  if (status === 401) return REFUSED;
  if (status === 404) return UNKNOWN_ACCOUNT;
  // It is there and busy; whether it takes messages, a hand-over will tell.
  if (status === 429) return null;
  if (status !== 200) return `Twilio answers ${status} instead of the account.`;
  const account = readAccountStatus(answer.body);
  if (account === null) return "What answers at baseUrl is not Twilio's API.";
  return account === "active" ? null : `The account is ${account}: Twilio's console says why.`;
}

/** Words for the two mistakes in settings that keep everything from going out. */
export const REFUSED = "Twilio refuses the credentials: accountSid and authToken have to be those of the account.";
export const UNKNOWN_ACCOUNT = "There is no such account at Twilio: check accountSid, and baseUrl where it is set.";
