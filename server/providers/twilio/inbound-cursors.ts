/** A cursor for each number, in the instance's memory: inbound messages up to there are on disk. */

import { jsonOf, numberOf, recordOf, textOf } from "../../core/loose-json.ts";
import { Journal } from "../kit/journal.ts";
import type { Memory, OwnAddress } from "../provider.ts";

const PREFIX = "inbound/";
/** Numbers of one instance. */
const NUMBERS_MAX = 100_000;

/** The cursor of one number. Instants are epoch milliseconds. */
export interface InboundCursor {
  /** The number's customer. Messages from the time of another customer are not reported to this one. */
  readonly customerId: string;
  /** When the number was first seen on the instance, by our clock. Earlier messages are not reported. */
  readonly bornAt: number;
  /** All messages up to here, by the API's clock, are on disk; null before the first read. */
  readonly readUntil: number | null;
}

export class InboundCursors {
  /** By number. */
  readonly #cursors: Journal<InboundCursor>;

  constructor(memory: Memory) {
    this.#cursors = new Journal({
      memory,
      prefix: PREFIX,
      format: formatCursor,
      parse: parseCursor,
      max: NUMBERS_MAX,
    });
  }

  /** Loads the cursors of previous processes. */
  load(): Promise<void> {
    return this.#cursors.load();
  }

  /**
   * Sets the instance's numbers at `now`, and resolves once that is on disk. A number that is new, or has a new
   * customer, gets a new cursor; the cursor of a missing number is deleted.
   */
  async setNumbers(numbers: readonly OwnAddress[], now: number): Promise<void> {
    const present = new Set(numbers.map(({ address }) => address));
    for (const number of this.numbers) if (!present.has(number)) await this.#cursors.delete(number);
    for (const { address, customerId } of numbers) {
      if (this.get(address)?.customerId === customerId) continue;
      await this.#cursors.put(address, { customerId, bornAt: now, readUntil: null });
    }
  }

  /**
   * Moves a cursor forward, and resolves once that is on disk. Call it when all messages up to `readUntil` are on disk.
   */
  async advance(number: string, cursor: InboundCursor, readUntil: number): Promise<void> {
    // The cursor was deleted or replaced during the read: the messages were not for its successor.
    if (this.get(number) !== cursor || readUntil <= (cursor.readUntil ?? Number.NEGATIVE_INFINITY)) return;
    await this.#cursors.put(number, { ...cursor, readUntil });
  }

  get(number: string): InboundCursor | null {
    return this.#cursors.get(number);
  }

  get numbers(): readonly string[] {
    return [...this.#cursors].map(([number]) => number);
  }
}

/** Writes a cursor under the names that stored data has. */
function formatCursor({ customerId, bornAt, readUntil }: InboundCursor): string {
  return JSON.stringify({ customerId, bornAt, heardAt: readUntil });
}

/** Reads a cursor. Null if it cannot be read: its number then begins anew. */
function parseCursor(text: string): InboundCursor | null {
  const record = recordOf(jsonOf(text));
  const [customerId, bornAt] = [textOf(record?.customerId), numberOf(record?.bornAt)];
  if (record === null || customerId === null || bornAt === null) return null;
  return { customerId, bornAt, readUntil: numberOf(record.heardAt) };
}
