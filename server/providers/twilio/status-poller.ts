/** Polls the status of messages that have no final status yet, because callbacks get lost or cannot reach us. */

import type { Clock } from "../../clock.ts";
import { InFlight } from "../kit/in-flight.ts";
import { PollSchedule } from "../kit/poll-schedule.ts";
import type { Api } from "./api.ts";
import { READ_TIMEOUT_MS } from "./message-list.ts";
import { readMessage } from "./records.ts";
import type { TwilioReporter } from "./reporter.ts";
import type { SendJournal, SendRecord } from "./send-journal.ts";

/** Ages at which a message is polled, in milliseconds. Twilio itself gives a message up after 10 h. */
const AGES_MS = [30_000, 120_000, 600_000, 3_600_000, 14_400_000, 43_200_000] as const;
/** While callbacks arrive, no message is polled before this age. How recent the last callback must be, in milliseconds. */
const AGE_OF_FIRST_POLL_MS = 600_000;
const HEARD_WITHIN_MS = 600_000;

/** The wait after a lookup that failed or could not be reported. */
const RETRY_MS = 60_000;
/** The wait of a record that is polled out of order, or that a previous process left. */
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
  readonly #parts: () => { journal: SendJournal; reporter: TwilioReporter };
  readonly #schedule: PollSchedule<SendRecord>;
  /** Records that are polled even while callbacks arrive. */
  readonly #urgent = new Set<SendRecord>();
  readonly #polls = new InFlight();
  #callbackAt = Number.NEGATIVE_INFINITY;
  #isStopped = false;

  /** `pathOf` makes the path of a message from its sid. */
  constructor(given: {
    api: Api;
    clock: Clock;
    pathOf: (sid: string) => string;
    isUp: () => boolean;
    parts: () => { journal: SendJournal; reporter: TwilioReporter };
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

  added(record: SendRecord, isOld: boolean): void {
    if (isOld) this.pollSoon(record);
    else this.#pollLater(record);
  }

  removed(record: SendRecord): void {
    this.#schedule.delete(record);
    this.#urgent.delete(record);
  }

  /** Polls a record out of order. */
  pollSoon(record: SendRecord): void {
    this.#pollAfter(record, SOON_MS);
  }

  #pollAfter(record: SendRecord, ms: number): void {
    if (record.hasEnded) return;
    this.#urgent.add(record);
    this.#schedule.set(record, this.#clock.real() + ms);
  }

  /** Schedules a record for its next age. After the last age it counts as ended. */
  #pollLater(record: SendRecord): void {
    if (record.hasEnded) return;
    const age = this.#clock.real() - record.knownSince;
    const nextAge = AGES_MS.find((ageMs) => ageMs > age);
    if (nextAge === undefined) void this.#parts().journal.end(record);
    else this.#schedule.set(record, record.knownSince + nextAge);
  }

  /** Polls the records that are due, up to the limit. Every finished lookup calls this again. */
  #pollDue(): void {
    if (this.#isStopped) return;
    if (!this.#isUp()) {
      this.#schedule.wait(DOWN_MS);
      return;
    }
    const now = this.#clock.real();
    while (this.#polls.size < ASKED_AT_ONCE_MAX) {
      const record = this.#schedule.takeDue(now);
      if (record === null) {
        this.#schedule.wait();
        return;
      }
      if (!this.#urgent.delete(record) && this.#isSpared(record, now)) this.#pollLater(record);
      else void this.#polls.track(this.#poll(record)).then(() => this.#pollDue());
    }
  }

  /** Whether callbacks arrive, so that a young record needs no poll. */
  #isSpared({ knownSince }: SendRecord, now: number): boolean {
    return now - this.#callbackAt < HEARD_WITHIN_MS && now - knownSince < AGE_OF_FIRST_POLL_MS;
  }

  async #poll(record: SendRecord): Promise<void> {
    const next = await this.#lookUp(record).catch(() => "retry" as const);
    if (next === "retry") this.#pollAfter(record, RETRY_MS);
    else this.#pollLater(record);
  }

  async #lookUp(record: SendRecord): Promise<"answered" | "retry"> {
    const { journal, reporter } = this.#parts();
    const answer = await this.#api.request({
      method: "GET",
      path: this.#pathOf(record.sid),
      timeoutMs: READ_TIMEOUT_MS,
    });
    if ("noResponse" in answer) return "retry";
    // The message was deleted at Twilio.
    if (answer.status === 404) await journal.end(record);
    if (answer.status === 404) return "answered";
    const message = answer.status === 200 ? readMessage(answer.body) : null;
    if (message === null) return "retry";
    await reporter.receipt(record, message);
    return "answered";
  }
}
