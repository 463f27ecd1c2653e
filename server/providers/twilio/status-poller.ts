/** Polls the status of messages that have no final status yet, because callbacks get lost or cannot reach us. */

import type { Clock } from "../../clock.ts";
import { InFlight } from "../kit/in-flight.ts";
import { PollSchedule } from "../kit/poll-schedule.ts";
import type { Api } from "./api.ts";
import { READ_TIMEOUT_MS } from "./message-list.ts";
import { readMessage } from "./records.ts";
import type { TwilioReporter } from "./reporter.ts";
import type { SentMessage, SentMessages } from "./sent-messages.ts";

/** Ages at which a message is polled, in milliseconds. Twilio itself gives a message up after 10 h. */
const AGES_MS = [30_000, 120_000, 600_000, 3_600_000, 14_400_000, 43_200_000] as const;
/** While callbacks arrive, no message is polled before this age. How recent the last callback must be, in milliseconds. */
const AGE_OF_FIRST_POLL_MS = 600_000;
const HEARD_WITHIN_MS = 600_000;

/** The wait after a lookup that failed or could not be reported. */
const RETRY_MS = 60_000;
/** The wait of a message that is polled out of order, or that a previous process left. */
const SOON_MS = 1_000;
const ASKED_AT_ONCE_MAX = 4;
/** How often to check whether the API is up again. */
const DOWN_MS = 5_000;

/** Polls in the background until each message has ended or is twelve hours old. */
export class StatusPoller {
  readonly #api: Api;
  readonly #clock: Clock;
  readonly #pathOf: (sid: string) => string;
  readonly #isUp: () => boolean;
  readonly #parts: () => { sent: SentMessages; reporter: TwilioReporter };
  readonly #schedule: PollSchedule<SentMessage>;
  /** Messages that are polled even while callbacks arrive. */
  readonly #urgent = new Set<SentMessage>();
  readonly #polls = new InFlight();
  #callbackAt = Number.NEGATIVE_INFINITY;
  #isStopped = false;

  /** `pathOf` makes the path of a message from its sid. */
  constructor(given: {
    api: Api;
    clock: Clock;
    pathOf: (sid: string) => string;
    isUp: () => boolean;
    parts: () => { sent: SentMessages; reporter: TwilioReporter };
  }) {
    this.#api = given.api;
    this.#clock = given.clock;
    this.#pathOf = given.pathOf;
    this.#isUp = given.isUp;
    this.#parts = given.parts;
    this.#schedule = new PollSchedule(given.clock, () => this.#pollDue());
  }

  start(): void {
    this.#schedule.start();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#schedule.stop();
    await this.#polls.ended();
  }

  /** Notes that callbacks arrive at present. */
  callbackReceived(): void {
    this.#callbackAt = this.#clock.real();
  }

  added(message: SentMessage, isOld: boolean): void {
    if (isOld) this.pollSoon(message);
    else this.#pollLater(message);
  }

  removed(message: SentMessage): void {
    this.#schedule.delete(message);
    this.#urgent.delete(message);
  }

  /** Polls a message out of order. */
  pollSoon(message: SentMessage): void {
    this.#pollAfter(message, SOON_MS);
  }

  #pollAfter(message: SentMessage, ms: number): void {
    if (message.hasEnded) return;
    this.#urgent.add(message);
    this.#schedule.set(message, this.#clock.real() + ms);
  }

  /** Schedules a message for its next age. After the last age it counts as ended. */
  #pollLater(message: SentMessage): void {
    if (message.hasEnded) return;
    const age = this.#clock.real() - message.knownSince;
    const nextAge = AGES_MS.find((ageMs) => ageMs > age);
    if (nextAge === undefined) void this.#parts().sent.end(message);
    else this.#schedule.set(message, message.knownSince + nextAge);
  }

  /** Polls the messages that are due, up to the limit. Every finished lookup calls this again. */
  #pollDue(): void {
    if (this.#isStopped) return;
    if (!this.#isUp()) {
      this.#schedule.wait(DOWN_MS);
      return;
    }
    const now = this.#clock.real();
    while (this.#polls.size < ASKED_AT_ONCE_MAX) {
      const message = this.#schedule.takeDue(now);
      if (message === null) {
        this.#schedule.wait();
        return;
      }
      if (!this.#urgent.delete(message) && this.#isSpared(message, now)) this.#pollLater(message);
      else void this.#polls.track(this.#poll(message)).then(() => this.#pollDue());
    }
  }

  /** Whether callbacks arrive, so that a young message needs no poll. */
  #isSpared({ knownSince }: SentMessage, now: number): boolean {
    return now - this.#callbackAt < HEARD_WITHIN_MS && now - knownSince < AGE_OF_FIRST_POLL_MS;
  }

  async #poll(message: SentMessage): Promise<void> {
    const next = await this.#lookUp(message).catch(() => "retry" as const);
    if (next === "retry") this.#pollAfter(message, RETRY_MS);
    else this.#pollLater(message);
  }

  async #lookUp(message: SentMessage): Promise<"answered" | "retry"> {
    const { sent, reporter } = this.#parts();
    const answer = await this.#api.request({
      method: "GET",
      path: this.#pathOf(message.sid),
      timeoutMs: READ_TIMEOUT_MS,
    });
    if ("noResponse" in answer) return "retry";
    // The message was deleted at Twilio.
    if (answer.status === 404) await sent.end(message);
    if (answer.status === 404) return "answered";
    const found = answer.status === 200 ? readMessage(answer.body) : null;
    if (found === null) return "retry";
    await reporter.receipt(message, found);
    return "answered";
  }
}
