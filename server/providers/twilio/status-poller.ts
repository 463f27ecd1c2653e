/** Polls the status of messages that have no final status yet, because callbacks get lost or cannot reach us. */

import type { Clock } from "../../clock.ts";
import type { Api } from "./api.ts";
import { READ_TIMEOUT_MS } from "./message-list.ts";
import { readMessage } from "./records.ts";
import type { TwilioReporter } from "./reporter.ts";
import type { SendJournal, SendRecord } from "./send-journal.ts";

/** Ages at which a message is polled, in milliseconds. Twilio itself gives a message up after 10 h. */
const AGES_MS = [30_000, 120_000, 600_000, 3_600_000, 14_400_000, 43_200_000] as const;
/** The number of ages to skip while callbacks arrive, and how recent the last callback must be, in milliseconds. */
const SPARED_AGES = 2;
const HEARD_WITHIN_MS = 600_000;

/** The wait after a lookup that failed or could not be reported. */
const RETRY_MS = 60_000;
/** The wait of a record that is polled out of order, or that a previous process left. */
const SOON_MS = 1_000;
const ASKED_AT_ONCE_MAX = 4;
/** How often to check whether the API is up again. */
const DOWN_MS = 5_000;
/** The longest single timer. */
const WAIT_MS_MAX = 3_600_000;

const SOON = AGES_MS.length;
const RETRY = SOON + 1;

/**
 * Records in the order in which they are due. There is one queue for each age, since all of its records wait equally
 * long.
 */
type PollQueue = Map<SendRecord, number>;

/** Polls in the background until each message has ended or is twelve hours old. */
export class StatusPoller {
  readonly #api: Api;
  readonly #clock: Clock;
  readonly #pathOf: (sid: string) => string;
  readonly #isUp: () => boolean;
  readonly #parts: () => { journal: SendJournal; reporter: TwilioReporter };
  readonly #queues: readonly PollQueue[] = Array.from({ length: RETRY + 1 }, () => new Map());
  readonly #places = new Map<SendRecord, PollQueue>();
  readonly #polling = new Set<Promise<void>>();
  #callbackAt = Number.NEGATIVE_INFINITY;
  #dueAt = Number.POSITIVE_INFINITY;
  #stopTimer = () => {};
  #isRunning = false;

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
  }

  start(): void {
    this.#isRunning = true;
    this.#arm();
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#stopTimer();
    await Promise.allSettled(this.#polling);
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
    this.#places.get(record)?.delete(record);
    this.#places.delete(record);
  }

  /** Polls a record out of order. */
  pollSoon(record: SendRecord): void {
    this.#put(record, SOON, this.#clock.real() + SOON_MS);
  }

  /** Schedules a record for its next age. After the last age it counts as ended. */
  #pollLater(record: SendRecord): void {
    const age = this.#clock.real() - record.knownSince;
    const step = AGES_MS.findIndex((ageMs) => ageMs > age);
    const ageMs = AGES_MS[step];
    if (ageMs === undefined) void this.#parts().journal.end(record);
    else this.#put(record, step, record.knownSince + ageMs);
  }

  #put(record: SendRecord, step: number, dueAt: number): void {
    this.removed(record);
    const queue = this.#queues[step];
    if (queue === undefined || record.hasEnded) return;
    queue.set(record, dueAt);
    this.#places.set(record, queue);
    if (dueAt < this.#dueAt) this.#arm();
  }

  #arm(atLeastMs = 0): void {
    this.#stopTimer();
    this.#dueAt = Math.min(...this.#queues.map((queue) => first(queue)?.dueAt ?? Number.POSITIVE_INFINITY));
    if (!this.#isRunning || this.#dueAt === Number.POSITIVE_INFINITY) return;
    const waitMs = Math.max(this.#dueAt - this.#clock.real(), atLeastMs);
    this.#stopTimer = this.#clock.after(Math.min(waitMs, WAIT_MS_MAX), () => this.#pollDue());
  }

  /** Polls the records that are due, up to the limit. Every finished lookup calls this again. */
  #pollDue(): void {
    if (!this.#isRunning) return;
    if (!this.#isUp()) {
      this.#arm(DOWN_MS);
      return;
    }
    const now = this.#clock.real();
    const isSpared = now - this.#callbackAt < HEARD_WITHIN_MS;
    for (const [step, queue] of this.#queues.entries()) {
      for (let head = first(queue); head !== null && head.dueAt <= now; head = first(queue)) {
        if (step < SPARED_AGES && isSpared) {
          this.#pollLater(head.record);
          continue;
        }
        if (this.#polling.size >= ASKED_AT_ONCE_MAX) return;
        this.removed(head.record);
        this.#poll(head.record);
      }
    }
    this.#arm();
  }

  #poll(record: SendRecord): void {
    const asking = this.#lookUp(record)
      .catch(() => "retry" as const)
      .then((next) => {
        this.#polling.delete(asking);
        if (next === "retry") this.#put(record, RETRY, this.#clock.real() + RETRY_MS);
        else if (!record.hasEnded) this.#pollLater(record);
        this.#pollDue();
      });
    this.#polling.add(asking);
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

function first(queue: PollQueue): { record: SendRecord; dueAt: number } | null {
  for (const [record, dueAt] of queue) return { record, dueAt };
  return null;
}
