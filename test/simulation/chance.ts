/** Chance that repeats: whatever a simulation leaves to chance is drawn here, from its seed. */

import { createHash } from "node:crypto";

/** A stream of random draws, the same for the same seed. Streams of different names are independent of one another. */
export class Chance {
  readonly #seed: string;
  #a: number;
  #b: number;
  #c: number;
  #count = 1;

  constructor(seed: string) {
    const digest = createHash("sha256").update(seed).digest();
    this.#seed = seed;
    this.#a = digest.readInt32LE(0);
    this.#b = digest.readInt32LE(4);
    this.#c = digest.readInt32LE(8);
  }

  /** A stream that is independent of all others. */
  stream(name: string): Chance {
    return new Chance(`${this.#seed} ${name}`);
  }

  /** In [0, 1): the generator sfc32. */
  next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#count) | 0;
    this.#count = (this.#count + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  }

  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  /** True with this probability. */
  flip(probability: number): boolean {
    return this.next() < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.next() * items.length)];
    if (item === undefined) throw new RangeError("there is nothing to pick from");
    return item;
  }

  /** A name, chosen with its weight. */
  weighted<Name extends string>(weights: Readonly<Partial<Record<Name, number>>>): Name {
    const entries = Object.entries(weights) as [Name, number][];
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      left -= weight;
      if (left < 0) return name;
    }
    throw new RangeError("there is nothing to pick from");
  }

  bytes(size: number): Uint8Array {
    return Uint8Array.from({ length: size }, () => this.between(0, 255));
  }
}
