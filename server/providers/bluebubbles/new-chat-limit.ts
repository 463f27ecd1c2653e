/**
 * Limits new conversations to so many in any hour, because Apple watches who begins many. Counts across restarts. A fixed window
 * (`core/rate-limit.ts`) would allow twice as many in the hour around its end.
 */

import type { Clock } from "../../clock.ts";
import { jsonOf } from "../../core/loose-json.ts";
import type { Memory } from "../provider.ts";

const KEY = "new-chats";
const WINDOW_MS = 3_600_000;

/** Counter of new conversations, in the instance's memory. Call `load` first. */
export class NewChatLimit {
  readonly #clock: Clock;
  readonly #memory: Memory;
  readonly #perHour: number;
  #begunAt: number[] = [];

  constructor(clock: Clock, memory: Memory, perHour: number) {
    this.#clock = clock;
    this.#memory = memory;
    this.#perHour = perHour;
  }

  /** Reads the times that the previous process stored. */
  async load(): Promise<void> {
    const entries = await this.#memory.list(KEY);
    this.#begunAt = parseTimes(entries.find(({ key }) => key === KEY)?.value);
  }

  /** Counts a conversation, on disk, and returns null. At the limit, returns the milliseconds to wait instead. */
  async acquire(): Promise<number | null> {
    const now = this.#clock.real();
    // A time in the future was stored before the clock was set back, and counts as now.
    const recent = this.#begunAt.map((at) => Math.min(at, now)).filter((at) => now - at < WINDOW_MS);
    const [oldest = now] = recent;
    if (recent.length >= this.#perHour) return Math.max(1_000, oldest + WINDOW_MS - now);
    this.#begunAt = [...recent, now];
    await this.#memory.put(KEY, JSON.stringify(this.#begunAt));
    return null;
  }

  /** Undoes the latest `acquire`: the conversation was not begun. */
  async release(): Promise<void> {
    this.#begunAt = this.#begunAt.slice(0, -1);
    await this.#memory.put(KEY, JSON.stringify(this.#begunAt));
  }
}

/** Times in ascending order; none if the stored value cannot be parsed. */
function parseTimes(text = "[]"): number[] {
  const value = jsonOf(text);
  return Array.isArray(value) ? value.filter((at) => typeof at === "number").sort((a, b) => a - b) : [];
}
