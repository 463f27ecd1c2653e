/** Checks whether one Mac can send and how it is, from time to time and more often while it is down. Sends no messages. */

import type { Clock } from "../../clock.ts";
import { ConnectionMonitor } from "../kit/connection-monitor.ts";
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

/** A successful response proves for this long that the Mac can send. */
const PROVEN_MS = 10_000;
/** Maximum age of the health shown to an operator. */
const FRESH_MS = 30_000;
/** `health` returns what is known after this time. */
const HEALTH_WITHIN_MS = 1_500;
const CHECK_LIMIT_MS = 5_000;
const CHECK_EVERY_MS = 60_000;
/** Delay between checks while the Mac is down; it doubles up to the maximum. */
const RETRY_AFTER_MS = 2_000;
const RETRY_AFTER_MS_MAX = 30_000;
/** Interval of the account check, which costs Private API calls. */
const ACCOUNT_EVERY_MS = 300_000;
const ACCOUNT_LIMIT_MS = 10_000;

export interface MacHealthOptions extends Pick<ProviderContext, "numbers" | "changed"> {
  client: MacClient;
  rateLimiter: PrivateApiRateLimiter;
  clock: Clock;
}

/** Health of one Mac, checked between `start` and `stop`. */
export class MacHealth {
  readonly #options: MacHealthOptions;
  readonly #connection: ConnectionMonitor<NonNullable<MacStatus["down"]>>;
  #info: MacInfo | null = null;
  #account: MacAccount | null = null;
  #ownOnImessage: boolean | null = null;
  /** Our addresses that Apple may have removed from the Mac's account, since the start. */
  readonly #suspectedLost = new Set<string>();
  /** A Private API call failed. `server/info` may claim the contrary, because it counts any connected helper. */
  #isDenied = false;
  #accountCheckedAt = Number.NEGATIVE_INFINITY;
  #checkingAccount: Promise<void> | null = null;
  #unconfirmedMessages = 0;
  #unconfirmedSince = 0;
  #unaddressed = 0;
  #onUp = () => {};

  constructor(options: MacHealthOptions) {
    this.#options = options;
    this.#connection = new ConnectionMonitor({
      clock: options.clock,
      check: () => this.#requestStatus(),
      changed: () => {
        options.changed();
        if (this.isUp) this.#onUp();
      },
      everyMs: CHECK_EVERY_MS,
      retryMs: RETRY_AFTER_MS,
      retryMsMax: RETRY_AFTER_MS_MAX,
    });
  }

  /** Whether the Mac can send, by the latest check. True before the first check. */
  get isUp(): boolean {
    return this.#connection.isUp;
  }

  /** Server info; null before the first response. */
  get info(): MacInfo | null {
    return this.#info;
  }

  /** Begins to check. Calls `onUp` whenever the Mac is up again. */
  start(onUp: () => void): void {
    this.#onUp = onUp;
    void this.#connection.check();
  }

  /** Resolves when the check in progress has ended. */
  stop(): Promise<void> {
    return this.#connection.stop();
  }

  /** An event arrived or the socket was connected, which anybody may have caused: a Mac that is down is checked at once. */
  eventReceived(): void {
    this.#connection.eventReceived();
  }

  /** A contact's row or a receipt arrived, so Messages reaches Apple. */
  activitySeen(): void {
    this.#unconfirmedMessages = 0;
  }

  /** Messages sent a message of ours. */
  messageSent(): void {
    if (this.#unconfirmedMessages === 0) this.#unconfirmedSince = this.#options.clock.real();
    this.#unconfirmedMessages += 1;
  }

  /** A contact's message came to no number of the instance. */
  messageUnaddressed(): void {
    this.#unaddressed += 1;
  }

  /** An event claims that Apple removed an address of ours. The claim counts once the account no longer lists the address. */
  suspectLost(address: string): void {
    this.#suspectedLost.add(address);
  }

  /** Checks whether the Mac can send, unless a recent response proves it. Returns null, or the reason why it cannot. */
  async ready(): Promise<string | null> {
    const { client, clock } = this.#options;
    const isProven = client.respondedAt !== null && clock.real() - client.respondedAt < PROVEN_MS;
    if (!this.isUp || this.#info === null || !isProven) await this.#connection.check();
    const { trouble } = this.#connection;
    return trouble === null ? null : describeDown(trouble);
  }

  /** A request failed in a way that keeps the Mac from sending. It is down until a check succeeds. */
  reportDown(failure: Failure): void {
    if (failure.kind === "errorResponse" && failure.status === 500) this.#isDenied = true;
    this.#connection.reportDown(failure);
  }

  /** Whether the Mac reported, when last asked, that it forwards no SMS. */
  get isKnownWithoutSms(): boolean {
    return this.#account?.smsForwarding === false;
  }

  /** Whether the Mac forwards SMS; null if it does not report that. */
  async forwardsSms(): Promise<boolean | null> {
    if (this.#account === null) await this.#checkAccount();
    return this.#account?.smsForwarding ?? null;
  }

  /** Returns the health within 1.5 s. Checks first if the last check is more than half a minute old. */
  async health(): Promise<Health> {
    const { clock, numbers } = this.#options;
    await this.#within(this.#connection.checkIfOlder(FRESH_MS), HEALTH_WITHIN_MS);
    const own = await numbers();
    return healthOf({
      down: this.#connection.trouble,
      info: this.#info,
      account: this.#account,
      ownOnImessage: this.#ownOnImessage,
      numbers: own.map(({ address }) => address),
      suspectedLost: [...this.#suspectedLost],
      unconfirmed: { messages: this.#unconfirmedMessages, forMs: clock.real() - this.#unconfirmedSince },
      unaddressed: this.#unaddressed,
    });
  }

  /** Requests the status: resolves with the reason why the Mac cannot send, or null. */
  async #requestStatus(): Promise<MacStatus["down"]> {
    const { client, clock } = this.#options;
    const response = await client.get("/server/info", {}, { limitMs: CHECK_LIMIT_MS });
    if (response.kind !== "ok") return response;
    this.#info = parseInfo(response.data);
    if (!this.#info.privateApi) return "privateApiOff";
    if (!this.#info.helperConnected) return "helperGone";
    if (this.#isDenied) {
      const account = await client.get("/icloud/account", {}, { limitMs: ACCOUNT_LIMIT_MS });
      // Without its helper the Mac reports that here. Any other error of BlueBubbles proves the helper is connected.
      if (account.kind === "ok") this.#account = parseAccount(account.data);
      else if (classifyFailure(account) === "notAttempted") return "helperGone";
      else if (!isBlueBubblesError(account)) return account;
      this.#isDenied = false;
    }
    if (clock.real() - this.#accountCheckedAt > ACCOUNT_EVERY_MS) void this.#checkAccount();
    return null;
  }

  /** Checks the account, and whether Apple knows our own address: a Mac may respond to everything and reach nobody. */
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
      const response = await client.get("/icloud/account", {}, { limitMs: ACCOUNT_LIMIT_MS });
      if (response.kind !== "ok") return;
      this.#account = parseAccount(response.data);
      const [own] = await numbers();
      const address = own?.address ?? this.#account.activeAlias;
      if (address !== undefined && address !== null) {
        const asked = { limitMs: ACCOUNT_LIMIT_MS };
        this.#ownOnImessage = await isAvailable({ client, rateLimiter }, "imessage", address, asked);
      }
    } catch {
      // The check was aborted, or the numbers could not be read: the previous result stays.
    }
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
