/** Splits a stream of octets into frames. */

import { FRAME_OCTETS_MAX, HEAD_OCTETS, PduError } from "./octets.ts";

const LENGTH_OCTETS = 4;

/** The unread octets of one connection. Returns whole frames only. */
export class Frames {
  readonly #chunks: Buffer[] = [];
  #octets = 0;
  /** The command_length of the next frame, once it is known. */
  #length: number | null = null;

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#octets += chunk.length;
  }

  /**
   * Returns the next frame, or null until more octets arrive. Throws `PduError` for a command_length below 16 or above
   * `FRAME_OCTETS_MAX`, and at every later call, because the next frame cannot be found any more.
   */
  next(): Buffer | null {
    const length = this.#length ?? this.#peek();
    if (length === null || this.#octets < length) return null;
    this.#length = null;
    return this.#take(length);
  }

  #peek(): number | null {
    if (this.#octets < LENGTH_OCTETS) return null;
    const length = this.#front(LENGTH_OCTETS).readUInt32BE(0);
    if (length < HEAD_OCTETS || length > FRAME_OCTETS_MAX) {
      throw new PduError("command_length", `is ${length}, not from ${HEAD_OCTETS} to ${FRAME_OCTETS_MAX}`);
    }
    this.#length = length;
    return length;
  }

  #take(length: number): Buffer {
    const front = this.#front(length);
    this.#octets -= length;
    if (front.length === length) this.#chunks.shift();
    else this.#chunks[0] = front.subarray(length);
    return front.subarray(0, length);
  }

  /** Joins chunks until the first one has `octets`. There must be that many. */
  #front(octets: number): Buffer {
    const [first] = this.#chunks;
    if (first !== undefined && first.length >= octets) return first;
    const whole = Buffer.concat(this.#chunks);
    this.#chunks.length = 0;
    this.#chunks.push(whole);
    return whole;
  }
}
