/** Whether one Mac can hand over, and how it is: asks it from time to time, sooner while it is down. Sends nothing. */

import type { Clock } from "../../clock.ts";
import { doublingMs } from "../../core/retry.ts";
import type { Health, ProviderContext } from "../provider.ts";
import { isThere } from "./availability.ts";
import { type Failure, isOwn, type MacClient } from "./client.ts";
import { meaningOf } from "./outcomes.ts";
import type { Pace } from "./pace.ts";
import {
  healthOf,
  type MacAccount,
  type MacInfo,
  parseAccount,
  parseInfo,
  type Standing,
  wordsOfDown,
} from "./standing.ts";

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
  pace: Pace;
  clock: Clock;
}

/** What is known of one Mac, from `start` to `stop`. */
export class MacHealth {
  readonly #options: MacHealthOptions;
  #down: Standing["down"] = null;
  #info: MacInfo | null = null;
  #account: MacAccount | null = null;
  #ownOnImessage: boolean | null = null;
  /** Addresses of ours of which something said that Apple took them from the Mac, since the start. */
  readonly #suspectedLost = new Set<string>();
  /** A call of the Private API was refused: `server/info` may say otherwise, since any helper will do there. */
  #isDenied = false;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #lookedCloserAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | null = null;
  #lookingCloser: Promise<void> | null = null;
  #misses = 0;
  #unheardMessages = 0;
  #unheardSince = 0;
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
    void this.#look();
  }

  stop(): void {
    this.#stopped = true;
    this.#stopTimer();
  }

  /** Something came from outside, through Apple, and the Mac has it: a row of a contact, a receipt. */
  progress(): void {
    this.#unheardMessages = 0;
  }

  /** Messages took a message of ours. */
  handed(): void {
    if (this.#unheardMessages === 0) this.#unheardSince = this.#options.clock.real();
    this.#unheardMessages += 1;
  }

  /** Something says that Apple took an address of ours from the account: it counts once the account does not name it. */
  suspectLost(address: string): void {
    this.#suspectedLost.add(address);
  }

  /** Asks, unless it just answered, whether it can hand over; null when it can, else why not. */
  async ready(): Promise<string | null> {
    const { client, clock } = this.#options;
    const isProven = client.answeredAt !== null && clock.real() - client.answeredAt < PROVEN_MS;
    if (this.#down !== null || this.#info === null || !isProven) await this.#look();
    return this.#down === null ? null : wordsOfDown(this.#down);
  }

  /** A hand-over found that it cannot: it is down until it proves otherwise. */
  failed(failure: Failure): void {
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
    if (this.#account === null) await this.#lookCloser();
    return this.#account?.smsForwarding ?? null;
  }

  /** How it is, within 1.5 s; asks where what is known is older than half a minute. */
  async health(): Promise<Health> {
    const { clock, numbers } = this.#options;
    if (clock.real() - this.#lookedAt > SHOWN_MS) await this.#within(this.#look(), HEALTH_WITHIN_MS);
    const own = await numbers();
    return healthOf({
      down: this.#down,
      info: this.#info,
      account: this.#account,
      ownOnImessage: this.#ownOnImessage,
      numbers: own.map(({ address }) => address),
      suspectedLost: [...this.#suspectedLost],
      unheard: { messages: this.#unheardMessages, forMs: clock.real() - this.#unheardSince },
    });
  }

  #look(): Promise<void> {
    this.#looking ??= this.#ask().finally(() => {
      this.#looking = null;
      this.#plan();
    });
    return this.#looking;
  }

  async #ask(): Promise<void> {
    if (this.#stopped) return;
    const { client, clock } = this.#options;
    const answer = await client.get("/server/info", {}, { limitMs: LOOK_LIMIT_MS });
    this.#lookedAt = clock.real();
    if (answer.kind !== "ok") return this.#set(answer);
    this.#info = parseInfo(answer.data);
    if (!this.#info.privateApi) return this.#set("privateApiOff");
    if (!this.#info.helperConnected) return this.#set("helperGone");
    if (this.#isDenied) {
      const account = await client.get("/icloud/account", {}, { limitMs: CLOSER_LIMIT_MS });
      // A Mac that breaks at the account has its helper: it says so where there is none.
      if (account.kind === "ok") this.#account = parseAccount(account.data);
      else if (meaningOf(account) === "notAttempted") return this.#set("helperGone");
      else if (!isOwn(account)) return this.#set(account);
      this.#isDenied = false;
    }
    this.#set(null);
    if (clock.real() - this.#lookedCloserAt > LOOK_CLOSER_EVERY_MS) void this.#lookCloser();
  }

  /** The account, and whether Apple knows our own address: a Mac may answer everything and reach nobody. */
  #lookCloser(): Promise<void> {
    this.#lookingCloser ??= this.#askCloser().finally(() => {
      this.#lookingCloser = null;
    });
    return this.#lookingCloser;
  }

  async #askCloser(): Promise<void> {
    const { client, pace, clock, numbers } = this.#options;
    this.#lookedCloserAt = clock.real();
    try {
      await pace.turn();
      const answer = await client.get("/icloud/account", {}, { limitMs: CLOSER_LIMIT_MS });
      if (answer.kind !== "ok") return;
      this.#account = parseAccount(answer.data);
      const [own] = await numbers();
      const address = own?.address ?? this.#account.activeAlias;
      if (address !== undefined && address !== null) {
        const asked = { limitMs: CLOSER_LIMIT_MS };
        this.#ownOnImessage = await isThere({ client, pace }, "imessage", address, asked);
      }
    } catch {
      // Called off, or the numbers could not be read: what was known stays known.
    }
  }

  #set(down: Standing["down"]): void {
    const wasUp = this.#down === null;
    this.#down = down;
    this.#misses = down === null ? 0 : this.#misses + 1;
    const isUp = down === null;
    if (wasUp === isUp || this.#stopped) return;
    this.#options.changed();
    if (isUp) this.#onUp();
  }

  #plan(): void {
    this.#stopTimer();
    if (this.#stopped) return;
    const again = doublingMs(this.#misses, LOOK_AGAIN_MS, LOOK_AGAIN_MS_MAX);
    this.#stopTimer = this.#options.clock.after(this.isUp ? LOOK_EVERY_MS : again, () => void this.#look());
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
