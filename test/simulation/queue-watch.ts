/** Notes situations of the queue of deliveries in one life, from the jobs of the writer and their results. */

import type { DueRows, Job, PushedRow, WrittenGroup } from "../../server/store/jobs/jobs.ts";
import { LAYOUT, type SqlValue } from "../../server/store/rows.ts";
import type { CommitResult } from "../../server/store/store.ts";

const indexOf = (property: string) => LAYOUT.deliveries.findIndex((column) => column.property === property);
const [EVENT_ID, URL_AT, LANE, DUE_AT] = ["eventId", "url", "lane", "dueAt"].map(indexOf) as [
  number,
  number,
  number,
  number,
];

/** A new delivery that went to the loop with its commit. */
export interface PushedDelivery {
  life: number;
  eventId: string;
  url: string;
}

/** Situations of all lives of a run. */
export interface QueueLog {
  pushed: PushedDelivery[];
  situations: string[];
}

export class QueueWatch {
  readonly #life: number;
  readonly #log: QueueLog;
  /** Lanes whose last read came back short. */
  readonly #caughtUp = new Set<string>();
  /** Lanes that had caught up before they fell behind. */
  readonly #behind = new Set<string>();
  /** The greatest due time that was read in a lane. */
  readonly #readUpTo = new Map<string, number>();

  constructor(life: number, log: QueueLog) {
    this.#life = life;
    this.#log = log;
  }

  note(jobs: readonly Job[], { results, pushed }: WrittenGroup): void {
    this.#pushed(pushed);
    for (const [index, job] of jobs.entries()) {
      const result = results[index];
      if (result === undefined || !("value" in result)) continue;
      if (job[0] === "commit") this.#committed(result.value as CommitResult);
      if (job[0] === "dueDeliveries") {
        const names = job[1].lanes.map(({ lane }) => lane);
        this.#read(names, result.value as DueRows);
      }
    }
  }

  #committed(reply: CommitResult): void {
    if (reply.result !== "ok") return;
    for (const lane of reply.lanes) if (this.#caughtUp.delete(lane)) this.#behind.add(lane);
  }

  #pushed(pushed: readonly PushedRow[]): void {
    for (const row of pushed) {
      if (row[0] !== "new") continue;
      const [, , values] = row;
      const url = String(values[URL_AT]);
      // Deliveries to the built-in inbox never reach the network.
      if (url.startsWith("http")) this.#log.pushed.push({ life: this.#life, eventId: String(values[EVENT_ID]), url });
    }
  }

  #read(lanes: readonly string[], { rows, more }: DueRows): void {
    for (const [, values] of rows) this.#readRow(values);
    for (const lane of lanes) {
      if (more.includes(lane)) continue;
      this.#caughtUp.add(lane);
      if (this.#behind.delete(lane)) this.#log.situations.push("a lane fell behind and caught up");
    }
  }

  #readRow(values: readonly SqlValue[]): void {
    const lane = String(values[LANE]);
    const dueAt = Number(values[DUE_AT]);
    const upTo = this.#readUpTo.get(lane) ?? Number.NEGATIVE_INFINITY;
    if (dueAt < upTo) this.#log.situations.push("a delivery was due before the cursor");
    this.#readUpTo.set(lane, Math.max(upTo, dueAt));
  }
}
