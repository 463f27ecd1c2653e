/** Reads and writes the parameter types of SMPP 3.4, 3.1, within the limits of one frame. */

import type { Tlvs } from "./pdu.ts";
import { ESME_RINVCMDLEN } from "./status.ts";

/** The PDU header: command_length, command_id, command_status and sequence_number (SMPP 3.4, 3.2). */
export const HEAD_OCTETS = 16;
/** The longest frame: an optional parameter of 65,535 octets, and room for the rest. */
export const FRAME_OCTETS_MAX = 69_632;
/** The tag and the length of an optional parameter (5.3). */
export const TLV_HEAD_OCTETS = 4;
const TLV_OCTETS_MAX = 0xffff;
const UINT8_MAX = 0xff;
const UINT16_MAX = 0xffff;
const UINT32_MAX = 0xffff_ffff;
const LATIN1_MAX = 0xff;

/** A frame that cannot be decoded, or a PDU that cannot be encoded. The message names the field and never its value. */
export class PduError extends Error {
  /** The name in SMPP 3.4. */
  readonly field: string;
  /** The command_status for the response. */
  readonly status: number;

  constructor(field: string, what: string, status: number = ESME_RINVCMDLEN) {
    super(`${field} ${what}`);
    this.name = "PduError";
    this.field = field;
    this.status = status;
  }
}

/**
 * Reads the body of one frame. A strict reader throws `PduError` if the frame ends before a required field. A lenient
 * one reads missing fields as 0 or empty, and a string up to the end of the frame, so that no response is lost to a
 * sloppy SMSC. Both stop at an optional parameter that they cannot read, and say so in `unreadRest`.
 */
export class Reader {
  readonly #frame: Buffer;
  readonly #isStrict: boolean;
  #at = HEAD_OCTETS;
  #unreadRest = 0;
  #hasUnsentEnd = false;

  constructor(frame: Buffer, isStrict: boolean) {
    this.#frame = frame;
    this.#isStrict = isStrict;
  }

  uint8(field: string): number {
    const value = this.#frame[this.#at];
    if (value === undefined) return this.#missing(field, 0);
    this.#at += 1;
    return value;
  }

  /** A C-octet string; each octet is a code unit. */
  text(field: string): string {
    const end = this.#frame.indexOf(0, this.#at);
    if (end < 0) {
      const rest = this.#frame.toString("latin1", this.#at);
      this.#at = this.#frame.length;
      return this.#missing(field, rest);
    }
    const value = this.#frame.toString("latin1", this.#at, end);
    this.#at = end + 1;
    return value;
  }

  /** Octets with a length before them. `mayLack`: whether the frame may end so many octets before their end. */
  counted(field: string, mayLack?: (sent: Uint8Array, lacks: number) => boolean): Uint8Array {
    const length = this.uint8(field);
    const lacks = length - (this.#frame.length - this.#at);
    this.#hasUnsentEnd = lacks > 0 && mayLack?.(this.#frame.subarray(this.#at), lacks) === true;
    return this.#take(field, this.#hasUnsentEnd ? length - lacks : length);
  }

  /** Whether `counted` took octets that end before their length says, as `mayLack` allows. */
  get hasUnsentEnd(): boolean {
    return this.#hasUnsentEnd;
  }

  /** Octets at the end of the frame that are no optional parameter; 0 before `tlvs`, and if it read everything. */
  get unreadRest(): number {
    return this.#unreadRest;
  }

  /** The rest of the frame (5.3.1), up to the first octets that are no optional parameter. */
  tlvs(): Tlvs {
    const tlvs = new Map<number, Uint8Array>();
    while (this.#at < this.#frame.length) {
      const left = this.#frame.length - this.#at - TLV_HEAD_OCTETS;
      const length = left < 0 ? 0 : this.#frame.readUInt16BE(this.#at + 2);
      if (length > left) {
        this.#unreadRest = this.#frame.length - this.#at;
        return tlvs;
      }
      const tag = this.#frame.readUInt16BE(this.#at);
      this.#at += TLV_HEAD_OCTETS;
      const value = this.#take("optional parameters", length);
      if (!tlvs.has(tag)) tlvs.set(tag, value);
    }
    return tlvs;
  }

  /** Copies, so that a few octets do not keep the larger buffer of the frame alive. */
  #take(field: string, length: number): Uint8Array {
    const left = this.#frame.length - this.#at;
    const taken = length > left ? this.#missing(field, left) : length;
    const value = new Uint8Array(this.#frame.subarray(this.#at, this.#at + taken));
    this.#at += taken;
    return value;
  }

  #missing<Value>(field: string, instead: Value): Value {
    if (this.#isStrict) throw new PduError(field, "is truncated");
    return instead;
  }
}

/** The buffer for encoding. One PDU is encoded at a time, and copied out at the end. */
const scratch = Buffer.alloc(FRAME_OCTETS_MAX);

/**
 * Encodes one PDU. Throws `PduError` for a value that does not fit its field, and for a PDU longer than
 * `FRAME_OCTETS_MAX`.
 */
export class Writer {
  #at = HEAD_OCTETS;

  uint8(field: string, value: number): void {
    scratch[this.#room(field, 1)] = checked(field, value, UINT8_MAX);
  }

  /** A C-octet string of at most `octetsMax`, without its NUL. */
  text(field: string, value: string, octetsMax: number): void {
    if (value.length > octetsMax) throw new PduError(field, `has ${value.length} octets, ${octetsMax} are allowed`);
    const at = this.#room(field, value.length + 1);
    for (let index = 0; index < value.length; index += 1) {
      const unit = value.charCodeAt(index);
      if (unit === 0 || unit > LATIN1_MAX)
        throw new PduError(field, "has a character that does not fit into one octet");
      scratch[at + index] = unit;
    }
    scratch[at + value.length] = 0;
  }

  /** Octets with a length before them. */
  counted(field: string, value: Uint8Array, octetsMax: number): void {
    if (value.length > octetsMax) throw new PduError(field, `has ${value.length} octets, ${octetsMax} are allowed`);
    this.uint8(field, value.length);
    scratch.set(value, this.#room(field, value.length));
  }

  tlvs(tlvs: Tlvs): void {
    for (const [tag, value] of tlvs) {
      const field = `optional parameter ${tag}`;
      if (value.length > TLV_OCTETS_MAX) throw new PduError(field, `has ${value.length} octets`);
      const at = this.#room(field, TLV_HEAD_OCTETS + value.length);
      scratch.writeUInt16BE(checked(field, tag, UINT16_MAX), at);
      scratch.writeUInt16BE(value.length, at + 2);
      scratch.set(value, at + TLV_HEAD_OCTETS);
    }
  }

  finish(commandId: number, status: number, sequence: number): Buffer {
    scratch.writeUInt32BE(this.#at, 0);
    scratch.writeUInt32BE(commandId, 4);
    scratch.writeUInt32BE(checked("command_status", status, UINT32_MAX), 8);
    scratch.writeUInt32BE(checked("sequence_number", sequence, UINT32_MAX), 12);
    return Buffer.from(scratch.subarray(0, this.#at));
  }

  /** Returns the position for the next `octets`. */
  #room(field: string, octets: number): number {
    const at = this.#at;
    if (at + octets > FRAME_OCTETS_MAX)
      throw new PduError(field, `makes the PDU longer than ${FRAME_OCTETS_MAX} octets`);
    this.#at += octets;
    return at;
  }
}

function checked(field: string, value: number, max: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= max) return value;
  throw new PduError(field, `is not a whole number from 0 to ${max}`);
}
