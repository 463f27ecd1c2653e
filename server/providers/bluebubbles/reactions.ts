/** Reactions as they come from contacts' phones: which they are, to what, and how a phone shows them. Pure. */

import { REACTIONS, type Reaction } from "../../../sdk/wire.ts";
import { emojiOfReaction, reactionContent, reactionOfEmoji } from "../../core/reaction.ts";
import type { MacMessage } from "./records.ts";

/** A reaction in a row. `emoji` is what stands in the bubble, null where it is not known. */
export interface Tapback {
  /** Guid of the message that it is about. */
  target: string;
  reaction: Reaction;
  emoji: string | null;
  isRemoved: boolean;
}

/** `associated_message_type`: from 2000 on in the order of the six, 2006 any emoji; from 3000 on the same, taken back. */
const BEGUN = 2000;
const REMOVED = 3000;
const ANY_EMOJI = 6;

/** How a reaction of any emoji is put into words by the phone that sent it. */
const WITH_EMOJI = /^(?:Reacted|Removed(?: an?)?) (\S{1,32}) (?:to|from) /u;

/** The reaction that a row is; null where it is none. */
export function tapbackOf(row: MacMessage): Tapback | null {
  const target = withoutPart(row.associatedMessageGuid);
  const type = row.associatedMessageType;
  if (target === null || type === null) return null;
  const isRemoved = type.startsWith("-") || Math.floor(Number(type) / 1000) * 1000 === REMOVED;
  const index = indexOf(type);
  if (index === null) return null;
  const named = REACTIONS[index];
  if (named !== undefined) return { target, reaction: named, emoji: emojiOfReaction(named), isRemoved };
  const emoji = row.associatedMessageEmoji ?? WITH_EMOJI.exec(row.text ?? "")?.[1] ?? null;
  return { target, reaction: reactionOfEmoji(emoji), emoji, isRemoved };
}

/** As a phone shows it: `Loved “Hi”`. `targetText` null: not known, or there is none. */
export function contentOf({ reaction: type, emoji, isRemoved }: Tapback, targetText: string | null): string {
  return reactionContent({ type, emoji, isRemoved }, targetText);
}

/** A guid without the part of the message that it names: `p:0/<guid>`, `bp:<guid>`. */
export function withoutPart(guid: string | null): string | null {
  const bare = guid?.replace(/^(?:bp:|p:\d+\/)/, "") ?? "";
  return bare === "" ? null : bare;
}

/** Place among the six; 6 for any emoji, null for what is no reaction: stickers, and balloons that change. */
function indexOf(type: string): number | null {
  const named = (REACTIONS as readonly string[]).indexOf(type.replace("-", ""));
  if (named >= 0) return named;
  const number = Number(type);
  const index = number - (number >= REMOVED ? REMOVED : BEGUN);
  return Number.isInteger(index) && index >= 0 && index <= ANY_EMOJI ? index : null;
}
