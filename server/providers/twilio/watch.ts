/** Asks Twilio what became of messages that no final status was told of: callbacks get lost, or cannot come at all. */

import type { Clock } from "../../clock.ts";
import type { Api } from "./api.ts";
import type { HandOver, Ledger } from "./ledger.ts";
import { QUESTION_MS } from "./pages.ts";
import { readMessage } from "./records.ts";
import type { Teller } from "./tell.ts";

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
type Queue = Map<HandOver, number>;

/** Asks, bounded and in the background, until each message has ended or is twelve hours old. */
export class Watch {
  readonly #api: Api;
  readonly #clock: Clock;
  readonly #pathOf: (sid: string) => string;
  readonly #isUp: () => boolean;
  readonly #parts: () => { ledger: Ledger; teller: Teller };
  readonly #queues: readonly Queue[] = Array.from({ length: RETRY + 1 }, () => new Map());
  readonly #places = new Map<HandOver, Queue>();
  readonly #asking = new Set<Promise<void>>();
  #heardAt = Number.NEGATIVE_INFINITY;
  #dueAt = Number.POSITIVE_INFINITY;
  #stopTimer = () => {};
  #isRunning = false;

  /** `pathOf` makes the path of a message of its sid. */
  constructor(given: {
    api: Api;
    clock: Clock;
    pathOf: (sid: string) => string;
    isUp: () => boolean;
    parts: () => { ledger: Ledger; teller: Teller };
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
    await Promise.allSettled(this.#asking);
  }

  /** A callback came: they do come at present. */
  heard(): void {
    this.#heardAt = this.#clock.real();
  }

  added(handOver: HandOver, isOld: boolean): void {
    if (isOld) this.soon(handOver);
    else this.#later(handOver);
  }

  removed(handOver: HandOver): void {
    this.#places.get(handOver)?.delete(handOver);
    this.#places.delete(handOver);
  }

  /** Asks about it out of turn. */
  soon(handOver: HandOver): void {
    this.#put(handOver, SOON, this.#clock.real() + SOON_MS);
  }

  /** Its next age; when it has passed them all, nothing more is expected of it. */
  #later(handOver: HandOver): void {
    const age = this.#clock.real() - handOver.knownSince;
    const step = AGES_MS.findIndex((ageMs) => ageMs > age);
    const ageMs = AGES_MS[step];
    if (ageMs === undefined) void this.#parts().ledger.end(handOver);
    else this.#put(handOver, step, handOver.knownSince + ageMs);
  }

  #put(handOver: HandOver, step: number, dueAt: number): void {
    this.removed(handOver);
    const queue = this.#queues[step];
    if (queue === undefined || handOver.hasEnded) return;
    queue.set(handOver, dueAt);
    this.#places.set(handOver, queue);
    if (dueAt < this.#dueAt) this.#arm();
  }

  #arm(atLeastMs = 0): void {
    this.#stopTimer();
    this.#dueAt = Math.min(...this.#queues.map((queue) => first(queue)?.dueAt ?? Number.POSITIVE_INFINITY));
    if (!this.#isRunning || this.#dueAt === Number.POSITIVE_INFINITY) return;
    const waitMs = Math.max(this.#dueAt - this.#clock.real(), atLeastMs);
    this.#stopTimer = this.#clock.after(Math.min(waitMs, WAIT_MS_MAX), () => this.#look());
  }

  /** Asks about what is due, as far as there is room; whoever has been answered looks again. */
  #look(): void {
    if (!this.#isRunning) return;
    if (!this.#isUp()) {
      this.#arm(DOWN_MS);
      return;
    }
    const now = this.#clock.real();
    const isSpared = now - this.#heardAt < HEARD_WITHIN_MS;
    for (const [step, queue] of this.#queues.entries()) {
      for (let head = first(queue); head !== null && head.dueAt <= now; head = first(queue)) {
        if (step < SPARED_AGES && isSpared) {
          this.#later(head.handOver);
          continue;
        }
        if (this.#asking.size >= ASKED_AT_ONCE_MAX) return;
        this.removed(head.handOver);
        this.#ask(head.handOver);
      }
    }
    this.#arm();
  }

  #ask(handOver: HandOver): void {
    const asking = this.#question(handOver)
      .catch(() => "retry" as const)
      .then((next) => {
        this.#asking.delete(asking);
        if (next === "retry") this.#put(handOver, RETRY, this.#clock.real() + RETRY_MS);
        else if (!handOver.hasEnded) this.#later(handOver);
        this.#look();
      });
    this.#asking.add(asking);
  }

  async #question(handOver: HandOver): Promise<"answered" | "retry"> {
    const { ledger, teller } = this.#parts();
    const answer = await this.#api.ask({ method: "GET", path: this.#pathOf(handOver.sid), timeoutMs: QUESTION_MS });
    if ("silence" in answer) return "retry";
    // Twilio has it no more: somebody deleted it there.
    if (answer.status === 404) await ledger.end(handOver);
    if (answer.status === 404) return "answered";
    const message = answer.status === 200 ? readMessage(answer.body) : null;
    if (message === null) return "retry";
    await teller.receipt(handOver, message);
    return "answered";
  }
}

function first(queue: Queue): { handOver: HandOver; dueAt: number } | null {
  for (const [handOver, dueAt] of queue) return { handOver, dueAt };
  return null;
}
