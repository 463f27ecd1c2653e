/** Whether one Mac can hand over, and how it is: asks it from time to time, sooner while it is down. Sends nothing. */

import type { Clock } from "../../clock.ts";
import { doublingMs } from "../../core/retry.ts";
import type { Health, ProviderContext } from "../provider.ts";
import { isAvailable } from "./availability.ts";
import { type Failure, isBlueBubblesError, type MacClient } from "./client.ts";
import { classifyFailure } from "./outcomes.ts";
import type { PrivateApiRateLimiter } from "./rate-limiter.ts";
import {
  describeDown,
  healthOf,
  type MacAccount,
  type MacInfo,
  type MacStatus,
  parseAccount,
  parseInfo,
} from "./status.ts";

/** A good answer is proof for so long that a hand-over need not ask before. */
const PROVEN_MS = 10_000;
/** What an operator is shown is at most so old, where the Mac answers. */
const SHOWN_MS = 30_000;
/** `health` answers after so long with what is known. */
const HEALTH_WITHIN_MS = 1_500;
const LOOK_LIMIT_MS = 5_000;
const LOOK_EVERY_MS = 60_000;
/** While it is down it is asked after this, doubling to the most. */
const LOOK_AGAIN_MS = 2_000;
const LOOK_AGAIN_MS_MAX = 30_000;
/** The account and our own address cost calls of the Private API. */
const LOOK_CLOSER_EVERY_MS = 300_000;
const CLOSER_LIMIT_MS = 10_000;

export interface MacHealthOptions extends Pick<ProviderContext, "numbers" | "changed"> {
  client: MacClient;
  rateLimiter: PrivateApiRateLimiter;
  clock: Clock;
}

/** What is known of one Mac, from `start` to `stop`. */
export class MacHealth {
  readonly #options: MacHealthOptions;
  #down: MacStatus["down"] = null;
  #info: MacInfo | null = null;
  #account: MacAccount | null = null;
  #ownOnImessage: boolean | null = null;
  /** Addresses of ours of which something said that Apple took them from the Mac, since the start. */
  readonly #suspectedLost = new Set<string>();
  /** A call of the Private API was refused: `server/info` may say otherwise, since any helper will do there. */
  #isDenied = false;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #accountCheckedAt = Number.NEGATIVE_INFINITY;
  #checking: Promise<void> | null = null;
  #checkingAccount: Promise<void> | null = null;
  #failures = 0;
  #unconfirmedMessages = 0;
  #unconfirmedSince = 0;
  #stopTimer = () => {};
  #stopped = false;
  #onUp = () => {};

  constructor(options: MacHealthOptions) {
    this.#options = options;
  }

  /** Whether it can hand over, as far as was asked; a Mac that nobody asked yet can. */
  get isUp(): boolean {
    return this.#down === null;
  }

  /** What it says of itself; null before it answered. */
  get info(): MacInfo | null {
    return this.#info;
  }

  /** Begins to ask. `onUp` is called whenever it came back. */
  start(onUp: () => void): void {
    this.#onUp = onUp;
    void this.#check();
  }

  stop(): void {
    this.#stopped = true;
    this.#stopTimer();
  }

  /** Something came from outside, through Apple, and the Mac has it: a row of a contact, a receipt. */
  activitySeen(): void {
    this.#unconfirmedMessages = 0;
  }

  /** Messages took a message of ours. */
  messageSent(): void {
    if (this.#unconfirmedMessages === 0) this.#unconfirmedSince = this.#options.clock.real();
    this.#unconfirmedMessages += 1;
  }

  /** Something says that Apple took an address of ours from the account: it counts once the account does not name it. */
  suspectLost(address: string): void {
    this.#suspectedLost.add(address);
  }

  /** Asks, unless it just answered, whether it can hand over; null when it can, else why not. */
  async ready(): Promise<string | null> {
    const { client, clock } = this.#options;
    const isProven = client.respondedAt !== null && clock.real() - client.respondedAt < PROVEN_MS;
    if (this.#down !== null || this.#info === null || !isProven) await this.#check();
    return this.#down === null ? null : describeDown(this.#down);
  }

  /** A hand-over found that it cannot: it is down until it proves otherwise. */
  reportDown(failure: Failure): void {
    if (failure.kind === "answered" && failure.status === 500) this.#isDenied = true;
    this.#set(failure);
    this.#plan();
  }

  /** Whether it said, when it was asked last, that it forwards no SMS. */
  get isKnownWithoutSms(): boolean {
    return this.#account?.smsForwarding === false;
  }

  /** Whether the Mac forwards SMS; null where it does not say. */
  async forwardsSms(): Promise<boolean | null> {
    if (this.#account === null) await this.#checkAccount();
    return this.#account?.smsForwarding ?? null;
  }

  /** How it is, within 1.5 s; asks where what is known is older than half a minute. */
  async health(): Promise<Health> {
    const { clock, numbers } = this.#options;
    if (clock.real() - this.#checkedAt > SHOWN_MS) await this.#within(this.#check(), HEALTH_WITHIN_MS);
    const own = await numbers();
    return healthOf({
      down: this.#down,
      info: this.#info,
      account: this.#account,
      ownOnImessage: this.#ownOnImessage,
      numbers: own.map(({ address }) => address),
      suspectedLost: [...this.#suspectedLost],
      unconfirmed: { messages: this.#unconfirmedMessages, forMs: clock.real() - this.#unconfirmedSince },
    });
  }

  #check(): Promise<void> {
    this.#checking ??= this.#requestStatus().finally(() => {
      this.#checking = null;
      this.#plan();
    });
    return this.#checking;
  }

  async #requestStatus(): Promise<void> {
    if (this.#stopped) return;
    const { client, clock } = this.#options;
    const answer = await client.get("/server/info", {}, { limitMs: LOOK_LIMIT_MS });
    this.#checkedAt = clock.real();
    if (answer.kind !== "ok") return this.#set(answer);
    this.#info = parseInfo(answer.data);
    if (!this.#info.privateApi) return this.#set("privateApiOff");
    if (!this.#info.helperConnected) return this.#set("helperGone");
    if (this.#isDenied) {
      const account = await client.get("/icloud/account", {}, { limitMs: CLOSER_LIMIT_MS });
      // A Mac that breaks at the account has its helper: it says so where there is none.
      if (account.kind === "ok") this.#account = parseAccount(account.data);
      else if (classifyFailure(account) === "notAttempted") return this.#set("helperGone");
      else if (!isBlueBubblesError(account)) return this.#set(account);
      this.#isDenied = false;
    }
    this.#set(null);
    if (clock.real() - this.#accountCheckedAt > LOOK_CLOSER_EVERY_MS) void this.#checkAccount();
  }

  /** The account, and whether Apple knows our own address: a Mac may answer everything and reach nobody. */
  #checkAccount(): Promise<void> {
    this.#checkingAccount ??= this.#requestAccount().finally(() => {
      this.#checkingAccount = null;
    });
    return this.#checkingAccount;
  }

  async #requestAccount(): Promise<void> {
    const { client, rateLimiter, clock, numbers } = this.#options;
    this.#accountCheckedAt = clock.real();
    try {
      await rateLimiter.acquire();
      const answer = await client.get("/icloud/account", {}, { limitMs: CLOSER_LIMIT_MS });
      if (answer.kind !== "ok") return;
      this.#account = parseAccount(answer.data);
      const [own] = await numbers();
      const address = own?.address ?? this.#account.activeAlias;
      if (address !== undefined && address !== null) {
        const asked = { limitMs: CLOSER_LIMIT_MS };
        this.#ownOnImessage = await isAvailable({ client, rateLimiter }, "imessage", address, asked);
      }
    } catch {
      // Called off, or the numbers could not be read: what was known stays known.
    }
  }

  #set(down: MacStatus["down"]): void {
    const wasUp = this.#down === null;
    this.#down = down;
    this.#failures = down === null ? 0 : this.#failures + 1;
    const isUp = down === null;
    if (wasUp === isUp || this.#stopped) return;
    this.#options.changed();
    if (isUp) this.#onUp();
  }

  #plan(): void {
    this.#stopTimer();
    if (this.#stopped) return;
    const again = doublingMs(this.#failures, LOOK_AGAIN_MS, LOOK_AGAIN_MS_MAX);
    this.#stopTimer = this.#options.clock.after(this.isUp ? LOOK_EVERY_MS : again, () => void this.#check());
  }

  #within(work: Promise<void>, limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const stopTimer = this.#options.clock.after(limitMs, resolve);
      void work.then(() => {
        stopTimer();
        resolve();
      });
    });
  }
}
