/** Asks Twilio what became of messages that no final status was told of: callbacks get lost, or cannot come at all. */

import type { Clock } from "../../clock.ts";
import type { Api } from "./api.ts";
import { READ_TIMEOUT_MS } from "./message-list.ts";
import { readMessage } from "./records.ts";
import type { TwilioReporter } from "./reporter.ts";
import type { SendJournal, SendRecord } from "./send-journal.ts";

/** Ages at which a message is asked about, in milliseconds. Twilio itself gives a message up after 10 h. */
const AGES_MS = [30_000, 120_000, 600_000, 3_600_000, 14_400_000, 43_200_000] as const;
/** The first ages are left out while callbacks come: within so long before, in milliseconds. */
const SPARED_AGES = 2;
const HEARD_WITHIN_MS = 600_000;

/** A question that was not answered, and news that could not be told, come again after this. */
const RETRY_MS = 60_000;
/** After so long one is asked about out of turn, and those that the process before left. */
const SOON_MS = 1_000;
const ASKED_AT_ONCE_MAX = 4;
/** How often it is looked whether the API is up again. */
const DOWN_MS = 5_000;
/** The longest that a clock waits in one go. */
const WAIT_MS_MAX = 3_600_000;

const SOON = AGES_MS.length;
const RETRY = SOON + 1;

/** Hand-overs in the order they are due: one queue for each age, as all of a queue wait equally long. */
type PollQueue = Map<SendRecord, number>;

/** Asks, bounded and in the background, until each message has ended or is twelve hours old. */
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

  /** `pathOf` makes the path of a message of its sid. */
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

  /** A callback came: they do come at present. */
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

  /** Asks about it out of turn. */
  pollSoon(record: SendRecord): void {
    this.#put(record, SOON, this.#clock.real() + SOON_MS);
  }

  /** Its next age; when it has passed them all, nothing more is expected of it. */
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

  /** Asks about what is due, as far as there is room; whoever has been answered looks again. */
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
    // Twilio has it no more: somebody deleted it there.
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
