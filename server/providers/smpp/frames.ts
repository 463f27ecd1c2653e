/** Cuts frames out of a stream of octets, wherever the network cut it before. */

import { FRAME_OCTETS_MAX, HEAD_OCTETS, PduError } from "./octets.ts";

const LENGTH_OCTETS = 4;

/** The octets of one connection that are not yet taken. A frame is never handed out in part. */
export class Frames {
  readonly #chunks: Buffer[] = [];
  #octets = 0;
  /** command_length of the frame that comes next, once it is known. */
  #length: number | null = null;

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#octets += chunk.length;
  }

  /**
   * The next frame, or null until more octets come. A command_length below 16 or above `FRAME_OCTETS_MAX` throws
   * `PduError`, then and ever after: nobody can say where the next frame would begin.
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

  /** The first chunk, made to hold at least `octets`; there are that many. */
  #front(octets: number): Buffer {
    const [first] = this.#chunks;
    if (first !== undefined && first.length >= octets) return first;
    const whole = Buffer.concat(this.#chunks);
    this.#chunks.length = 0;
    this.#chunks.push(whole);
    return whole;
  }
}
