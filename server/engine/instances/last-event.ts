/** When the peer of a connected instance last sent an event: in memory, and in the memory of the instance once a minute at most. */

import type { Clock } from "../../clock.ts";
import type { InstanceId } from "../../core/id.ts";
import { RepeatingTask } from "../../core/repeating-task.ts";
import type { Memory } from "../../providers/provider.ts";
import { listMemory } from "../../store/memory.ts";
import type { Store } from "../../store/store.ts";

/** Key in the instance's memory. */
const KEY = "last-event";
/** Shortest time between two writes, in real milliseconds: events may come by the thousand a second. */
const WRITE_EVERY_MS = 60_000;

/** The last event of one connection of an instance. After a crash it is up to a minute too old. */
export class LastEvent {
  readonly #memory: Memory;
  readonly #clock: Clock;
  readonly #writes: RepeatingTask;
  #at: number | null;
  #writtenAt: number | null;

  private constructor(memory: Memory, clock: Clock, fault: (error: unknown) => void, at: number | null) {
    this.#memory = memory;
    this.#clock = clock;
    this.#at = at;
    this.#writtenAt = at;
    this.#writes = new RepeatingTask({ clock, run: () => this.#write(), fault, retryMs: WRITE_EVERY_MS });
  }

  /** The last event that earlier connections of the instance noted. `fault` gets the error of a write that failed. */
  static async load(memory: Memory, clock: Clock, fault: (error: unknown) => void): Promise<LastEvent> {
    return new LastEvent(memory, clock, fault, timeIn(await memory.list(KEY)));
  }

  /** Epoch milliseconds by the service's clock; null if there was no event yet. */
  get at(): number | null {
    return this.#at;
  }

  /** Notes an event that came now. The first one after a quiet minute is written at once. */
  note(): void {
    this.#at = this.#clock.now();
    if (this.#writes.isIdle) void this.#writes.run();
  }

  /** Resolves when the last event is on disk. Never throws. */
  async stop(): Promise<void> {
    await this.#writes.stop();
    try {
      await this.#write();
    } catch {
      // Another process owns the instance by now, or the database is away: a minute of the time is lost.
    }
  }

  /** Resolves with the time until the next write; null if the next event is to begin it. */
  async #write(): Promise<number | null> {
    const at = this.#at;
    if (at === null || at === this.#writtenAt) return null;
    await this.#memory.put(KEY, String(at));
    this.#writtenAt = at;
    return WRITE_EVERY_MS;
  }
}

/** The last event of an instance that no process runs, as it was written last; null if there was none. */
export async function storedLastEvent({ db }: Pick<Store, "db">, id: InstanceId): Promise<number | null> {
  return timeIn(await listMemory(db, id, KEY));
}

/** The time in an entry of the memory; null without one, and for one that is damaged. */
function timeIn(entries: readonly { key: string; value: string }[]): number | null {
  const at = Number(entries.find(({ key }) => key === KEY)?.value);
  return Number.isSafeInteger(at) ? at : null;
}
