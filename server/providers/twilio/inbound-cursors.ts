/** How far the inbound messages of each number are known to be on disk, kept in the instance's durable memory. */

import { jsonOf, numberOf, recordOf, textOf } from "../../core/loose-json.ts";
import type { Memory, OwnAddress } from "../provider.ts";

const PREFIX = "inbound/";

/** One number of the instance. Instants are epoch milliseconds. */
export interface InboundCursor {
  /** Whose it is: what came to the number of another customer is none of this one's business. */
  readonly customerId: string;
  /** When it was first seen on the instance, by our clock: what came before is no news. */
  readonly bornAt: number;
  /** All that came until then, by the API's clock, is on disk; null before the first look. */
  readonly heardAt: number | null;
}

export class InboundCursors {
  readonly #memory: Memory;
  readonly #byNumber = new Map<string, InboundCursor>();

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  /** Takes up what the processes before left. */
  async load(): Promise<void> {
    for (const { key, value } of await this.#memory.list(PREFIX)) {
      const mark = parseMark(value);
      if (mark !== null) this.#byNumber.set(key.slice(PREFIX.length), mark);
    }
  }

  /**
   * These are the numbers at `now`, no others: resolves when that is on disk. One that is new, or another customer's
   * than before, begins now; one that is gone is forgotten.
   */
  async setNumbers(numbers: readonly OwnAddress[], now: number): Promise<void> {
    const present = new Set(numbers.map(({ address }) => address));
    for (const number of [...this.#byNumber.keys()]) {
      if (present.has(number)) continue;
      await this.#memory.delete(PREFIX + number);
      this.#byNumber.delete(number);
    }
    for (const { address, customerId } of numbers) {
      if (this.#byNumber.get(address)?.customerId === customerId) continue;
      await this.#put(address, { customerId, bornAt: now, heardAt: null });
    }
  }

  /** All that came to the number until `heardAt` is on disk, and so is this when it resolves. It never goes back. */
  async advance(number: string, mark: InboundCursor, heardAt: number): Promise<void> {
    // Forgotten or another's meanwhile: what was read was not for it.
    if (this.#byNumber.get(number) !== mark || heardAt <= (mark.heardAt ?? Number.NEGATIVE_INFINITY)) return;
    await this.#put(number, { ...mark, heardAt });
  }

  get(number: string): InboundCursor | null {
    return this.#byNumber.get(number) ?? null;
  }

  get numbers(): readonly string[] {
    return [...this.#byNumber.keys()];
  }

  async #put(number: string, mark: InboundCursor): Promise<void> {
    await this.#memory.put(PREFIX + number, JSON.stringify(mark));
    this.#byNumber.set(number, mark);
  }
}

/** What an entry says; null for one that cannot be read: its number begins anew. */
function parseMark(text: string): InboundCursor | null {
  const record = recordOf(jsonOf(text));
  const [customerId, bornAt] = [textOf(record?.customerId), numberOf(record?.bornAt)];
  if (record === null || customerId === null || bornAt === null) return null;
  return { customerId, bornAt, heardAt: numberOf(record.heardAt) };
}
