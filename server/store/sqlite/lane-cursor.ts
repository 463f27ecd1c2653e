/** Records how far claims of messages have come in a lane, and which messages they left behind the cursor. */

import type { AddressPair, DuePlace } from "./message-leases.ts";

/** A place in the order of a lane. */
export type Place = Pick<DuePlace, "dueAt" | "id">;

/** A due lookup, or a pair. No message of the pair is due before this place. */
export interface PairPlace extends Place {
  pair: AddressPair;
  isLookup: boolean;
}

/** Every due message up to the cursor is leased, is in `lookups`, or its pair is in `free` or `behind`. */
export interface LaneCursor extends Place {
  /** Pairs without a leased message that their other messages wait for. */
  free: Map<string, PairPlace>;
  /** Pairs with a leased message that their other messages wait for. */
  behind: Map<string, PairPlace>;
  /** By id, lookups behind the cursor whose lease ended, or that became due there later. */
  lookups: Map<string, PairPlace>;
  /** The last pair that a claim read by the index of pairs. */
  pair: AddressPair;
}

/** The pair before all others. */
export const FIRST_PAIR: AddressPair = ["", ""];

/** A cursor before all messages of a lane. */
export function cursorAtFront(): LaneCursor {
  const [free, behind, lookups] = [new Map(), new Map(), new Map()];
  return { dueAt: Number.MIN_SAFE_INTEGER, id: "", free, behind, lookups, pair: FIRST_PAIR };
}

/** Counts the pairs and lookups that a cursor remembers. */
export function sizeOf({ free, behind, lookups }: LaneCursor): number {
  return free.size + behind.size + lookups.size;
}

/** Compares two places in the order of a lane. */
export function compare(a: Place, b: Place): number {
  return a.dueAt - b.dueAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}

/** A row of a statement that returns `PLACE`. */
export type PlaceRow = [id: string, from: string, to: string, dueAt: number, isLookup: number];

export function placeOf([id, from, to, dueAt, isLookup]: PlaceRow): PairPlace {
  return { id, dueAt, pair: [from, to], isLookup: isLookup === 1 };
}
