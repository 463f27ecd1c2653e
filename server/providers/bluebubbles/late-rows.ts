/** Polls for what contacts' messages lacked when they were reported: BlueBubbles pushes nothing when Messages links a file. */

import { Journal } from "../kit/journal.ts";
import { PollSchedule } from "../kit/poll-schedule.ts";
import type { Limits } from "./client.ts";
import type { Mac } from "./mac.ts";
import type { MacMessage } from "./records.ts";
import { RowLookups } from "./row-lookups.ts";

const PREFIX = "late/";

/** Times of the first polls after a message was reported; later ones follow every ten minutes for a day. */
const FIRST_POLLS_MS: readonly number[] = [5_000, 15_000, 60_000, 300_000];
const POLL_EVERY_MS = 600_000;
const POLLED_MS = 86_400_000;
/** Polls due within this time share a query. */
const TOGETHER_MS = 1_000;
/** Limit of messages polled; the oldest goes first. */
const ROWS_MAX = 1_000;

/** The messages that were reported without everything their rows name, on disk. */
export class LateRows {
  readonly #mac: Mac;
  readonly #lookups: RowLookups;
  /** When each message was reported, by its guid. */
  readonly #reportedAt: Journal<number>;
  readonly #schedule: PollSchedule<string>;

  /** `ingest` receives each row found. */
  constructor(mac: Mac, limits: Limits, ingest: (row: MacMessage) => Promise<boolean>) {
    const { clock, memory } = mac.context;
    this.#mac = mac;
    this.#lookups = new RowLookups({ mac, limits, onRow: ingest, onDone: (guids) => this.#rowsReceived(guids) });
    this.#schedule = new PollSchedule(clock, () => this.#poll());
    this.#reportedAt = new Journal({
      memory,
      prefix: PREFIX,
      format: String,
      parse: (text) => (Number.isFinite(Number(text)) ? Number(text) : null),
      ageOf: (at) => at,
      max: ROWS_MAX,
      removed: (_, guid) => this.#schedule.delete(guid),
    });
  }

  /** Resumes the polls of the previous process: each message is polled at least once more. */
  async start(): Promise<void> {
    await this.#reportedAt.load();
    const now = this.#mac.context.clock.real();
    for (const [guid] of this.#reportedAt) this.#schedule.set(guid, now);
    this.#schedule.start();
  }

  /** Whether the message was reported, and still lacks something. */
  has(guid: string): boolean {
    return this.#reportedAt.get(guid) !== null;
  }

  /** A message was reported: polls for the rest if it lacks something. Resolves once that is on disk. */
  async reported(guid: string, lacksSomething: boolean): Promise<void> {
    if (this.has(guid) === lacksSomething) return;
    if (!lacksSomething) return this.#reportedAt.delete(guid);
    const now = this.#mac.context.clock.real();
    await this.#reportedAt.put(guid, now);
    this.#schedule.set(guid, now + (FIRST_POLLS_MS[0] ?? 0));
  }

  async stop(): Promise<void> {
    this.#schedule.stop();
    await this.#lookups.stop();
  }

  #poll(): void {
    const until = this.#mac.context.clock.real() + TOGETHER_MS;
    this.#lookups.add(this.#schedule.takeAllDue(until));
    this.#schedule.wait();
  }

  /** Schedules the next polls, also for messages at which BlueBubbles failed: it may recover. */
  #rowsReceived(guids: readonly string[]): void {
    const { clock, fault } = this.#mac.context;
    const now = clock.real();
    for (const guid of guids) {
      const reportedAt = this.#reportedAt.get(guid);
      if (reportedAt === null) continue;
      const age = now - reportedAt;
      const first = FIRST_POLLS_MS.find((afterMs) => afterMs > age + TOGETHER_MS);
      // If this fails, the next process polls once more.
      if (age >= POLLED_MS) this.#reportedAt.delete(guid).catch(fault);
      else this.#schedule.set(guid, first === undefined ? now + POLL_EVERY_MS : reportedAt + first);
    }
  }
}
