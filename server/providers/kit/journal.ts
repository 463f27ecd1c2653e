/**
 * Journal of records of one kind: a bounded map with a copy in the instance's memory, so that the next process goes on with it. It is
 * for what an instance needs; what a send attempt needs is its note (`SendAttempts`).
 */

import type { Memory } from "../provider.ts";

export interface JournalOptions<Value> {
  memory: Memory;
  /** The beginning of every key in the memory. */
  prefix: string;
  format: (value: Value) => string;
  /** Null if the text cannot be read, or is no longer needed: `load` then deletes it. `name` is the key without the prefix. */
  parse: (text: string, name: string) => Value | null;
  /** Sorts the records of the previous process, the oldest first. Without it they keep the order of the memory. */
  ageOf?: (value: Value) => number;
  /** Records kept. Beyond this number the oldest is deleted. */
  max: number;
  /** A record is new, or came from the previous process. */
  added?: (value: Value, name: string) => void;
  /** A record was deleted or replaced. */
  removed?: (value: Value, name: string) => void;
}

/** Iterates from the oldest record to the newest. Call `load` first. */
export class Journal<Value> {
  readonly #options: JournalOptions<Value>;
  readonly #records = new Map<string, Value>();

  constructor(options: JournalOptions<Value>) {
    this.#options = options;
  }

  /** Reads the records of the previous process. If an unreadable one cannot be deleted, the next process deletes it. */
  async load(): Promise<void> {
    const { memory, prefix, parse, ageOf } = this.#options;
    const left: [string, Value][] = [];
    for (const { key, value: text } of await memory.list(prefix)) {
      const name = key.slice(prefix.length);
      const value = parse(text, name);
      if (value === null) await memory.delete(key).catch(() => {});
      else left.push([name, value]);
    }
    if (ageOf !== undefined) left.sort(([, one], [, other]) => ageOf(one) - ageOf(other));
    for (const [name, value] of left) if (!this.#records.has(name)) this.set(name, value);
  }

  get size(): number {
    return this.#records.size;
  }

  get(name: string): Value | null {
    return this.#records.get(name) ?? null;
  }

  values(): Value[] {
    return [...this.#records.values()];
  }

  [Symbol.iterator](): IterableIterator<[string, Value]> {
    return this.#records.entries();
  }

  /** The key in the memory, for a signal that forgets the record. */
  keyOf(name: string): string {
    return this.#options.prefix + name;
  }

  /** Writes a record, and adds it once it is on disk. If the write fails, there is no such record. */
  async put(name: string, value: Value): Promise<void> {
    await this.#write(name, value);
    this.set(name, value);
  }

  /** Adds a record without writing it. */
  set(name: string, value: Value): void {
    const { added, removed, max } = this.#options;
    const before = this.#records.get(name);
    if (before !== undefined && before !== value) removed?.(before, name);
    this.#records.set(name, value);
    if (before !== value) added?.(value, name);
    while (this.#records.size > max) {
      const [oldest = name] = this.#records.keys();
      // If this fails, the next process deletes the record.
      void this.delete(oldest).catch(() => {});
    }
  }

  /** Writes a record as it is now. Resolves once it is on disk. */
  async save(name: string): Promise<void> {
    const value = this.#records.get(name);
    if (value !== undefined) await this.#write(name, value);
  }

  /** Deletes a record, and resolves once it is gone from the disk. */
  async delete(name: string): Promise<void> {
    this.drop(name);
    await this.#options.memory.delete(this.keyOf(name));
  }

  /** Removes a record that the engine deletes from the disk. */
  drop(name: string): void {
    const value = this.#records.get(name);
    if (value === undefined) return;
    this.#records.delete(name);
    this.#options.removed?.(value, name);
  }

  /** Deletes the records that are over. */
  async sweep(isOver: (value: Value) => boolean): Promise<void> {
    for (const [name, value] of [...this.#records]) if (isOver(value)) await this.delete(name);
  }

  #write(name: string, value: Value): Promise<void> {
    return this.#options.memory.put(this.keyOf(name), this.#options.format(value));
  }
}
