/** Reads reactions in rows: type, target, and the text that a phone shows for them. Pure. */

import { REACTIONS, type Reaction } from "../../../sdk/wire.ts";
import { emojiIn, emojiOfReaction, reactionContent } from "../../core/reaction.ts";
import type { MacMessage } from "./records.ts";

/** Reaction in a row: one of the six, or any other emoji. `emoji` is the emoji in the bubble; null if not known. */
export interface Tapback {
  /** Guid of the message reacted to. */
  target: string;
  reaction: Reaction | "emoji";
  emoji: string | null;
  isRemoved: boolean;
}

/** `associated_message_type`: from 2000 on the six reactions in order, 2006 any emoji; from 3000 on their removals. */
const BEGUN = 2000;
const REMOVED = 3000;
const ANY_EMOJI = 6;

/** Returns the reaction in a row; null if the row has none. */
export function tapbackOf(row: MacMessage): Tapback | null {
  const target = withoutPart(row.associatedMessageGuid);
  const type = row.associatedMessageType;
  if (target === null || type === null) return null;
  const isRemoved = type.startsWith("-") || Math.floor(Number(type) / 1000) * 1000 === REMOVED;
  const index = indexOf(type);
  if (index === null) return null;
  const named = REACTIONS[index];
  if (named !== undefined) return { target, reaction: named, emoji: emojiOfReaction(named), isRemoved };
  // BlueBubbles 1.9.9 leaves the emoji out of its rows; the sender's phone writes it into the row's text.
  return { target, reaction: "emoji", emoji: row.associatedMessageEmoji ?? emojiIn(row.text ?? ""), isRemoved };
}

/** Text of a reaction as a phone shows it: `Loved “Hi”`. `targetText` is null if not known. */
export function contentOf({ reaction: type, emoji, isRemoved }: Tapback, targetText: string | null): string {
  return reactionContent({ type, emoji, isRemoved }, targetText);
}

/** Strips the part number from a guid: `p:0/<guid>`, `bp:<guid>`. */
export function withoutPart(guid: string | null): string | null {
  const bare = guid?.replace(/^(?:bp:|p:\d+\/)/, "") ?? "";
  return bare === "" ? null : bare;
}

/** Index among the six reactions; 6 for any emoji; null for stickers and app messages, which are no reactions. */
function indexOf(type: string): number | null {
  const named = (REACTIONS as readonly string[]).indexOf(type.replace("-", ""));
  if (named >= 0) return named;
  const number = Number(type);
  const index = number - (number >= REMOVED ? REMOVED : BEGUN);
  return Number.isInteger(index) && index >= 0 && index <= ANY_EMOJI ? index : null;
}
