/** The content of an inbound message: the text of its parts, and the octets of those that are no text. */

import type { Clock } from "../../clock.ts";
import { RecentCount } from "../kit/recent-count.ts";
import type { SmppSettings } from "./settings.ts";
import { areSeptets, type PartOctets, readText } from "./text.ts";

/** Stands for a part that never arrived. */
const GAP = " […] ";
const NUL = 0x00;
/** Tab, line feed, form feed, carriage return. */
const LINE_CONTROLS: readonly number[] = [0x09, 0x0a, 0x0c, 0x0d];

/** The text and the other octets of a message. */
export interface TextAndOctets {
  /** Null if no part of it is text. */
  text: string | null;
  /** The octets of binary parts. */
  binary: Uint8Array;
}

/**
 * Reads the contents of a carrier's messages. Some carriers end every text with a NUL and count it in its length. In
 * septets that octet is `@`, so both a text of such a carrier and one that a person ended with `@` look the same: the
 * octet is left out until a text of the carrier ends without it, since such a carrier ends all of them so.
 */
export class ContentReader {
  readonly #settings: SmppSettings;
  readonly #foreign: RecentCount;
  #maySeptetsEndInNul = true;

  constructor(settings: SmppSettings, clock: Clock) {
    this.#settings = settings;
    this.#foreign = new RecentCount(clock);
  }

  /** Recent messages in the default alphabet with octets that stand for no character in it. */
  get foreign(): number {
    return this.#foreign.value;
  }

  /** The content of a message, with its parts in order; null stands for a part that never arrived. */
  read(parts: readonly (PartOctets | null)[]): TextAndOctets {
    if (parts.some((part) => part !== null && isForeign(part, this.#settings))) this.#foreign.note();
    return contentOf(this.#withoutNuls(parts), this.#settings);
  }

  #withoutNuls(parts: readonly (PartOctets | null)[]): readonly (PartOctets | null)[] {
    const texts = parts.filter((part) => part !== null && part.octets.length > 1 && areSeptets(part, this.#settings));
    if (texts.some((part) => part?.octets.at(-1) !== NUL)) this.#maySeptetsEndInNul = false;
    if (!this.#maySeptetsEndInNul) return parts;
    return parts.map((part) =>
      part !== null && texts.includes(part) ? { ...part, octets: part.octets.subarray(0, -1) } : part,
    );
  }
}

/** Whether a part in the carrier's default alphabet shows that this is another one than the setting says. */
function isForeign({ dataCoding, octets }: PartOctets, { defaultAlphabet }: SmppSettings): boolean {
  if (dataCoding !== 0) return false;
  if (defaultAlphabet === "gsm") return octets.some((octet) => octet > 0x7f);
  return octets.some((octet) => isControl(octet) || (defaultAlphabet === "ascii" && octet > 0x7f));
}

/** Whether an octet is a control character that no text has: in septets these are letters. A NUL at the end is usual. */
function isControl(octet: number): boolean {
  return octet < 0x20 && octet !== NUL && !LINE_CONTROLS.includes(octet);
}

/** Parts with the same alphabet are joined before decoding, because a character may be split between two parts. */
function contentOf(parts: readonly (PartOctets | null)[], settings: SmppSettings): TextAndOctets {
  let text: string | null = null;
  const binary: Uint8Array[] = [];
  for (let at = 0; at < parts.length; ) {
    const first = parts[at];
    let end = at + 1;
    if (first == null) {
      while (end < parts.length && parts[end] == null) end += 1;
      text = (text ?? "") + GAP;
    } else {
      while (end < parts.length && isAlike(parts[end], first)) end += 1;
      const octets = Buffer.concat(parts.slice(at, end).map((part) => part?.octets ?? new Uint8Array()));
      const content = readText({ ...first, octets }, settings);
      if ("text" in content) text = (text ?? "") + content.text;
      else binary.push(content.binary);
    }
    at = end;
  }
  return { text, binary: Buffer.concat(binary) };
}

/** Whether two parts have the same alphabet. */
function isAlike(part: PartOctets | null | undefined, { dataCoding, shifts }: PartOctets): boolean {
  return (
    part?.dataCoding === dataCoding &&
    part.shifts?.locking === shifts?.locking &&
    part.shifts?.single === shifts?.single
  );
}
