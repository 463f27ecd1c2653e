/** Reactions: one of iMessage's six, or any single emoji; how a caller writes them, and how a phone shows them. Pure. */

import { REACTIONS, type Reaction } from "../../sdk/wire.ts";

/** A reaction as a phone shows it. */
export interface SeenReaction {
  /** One of the six, or `emoji` for any other. */
  type: Reaction | "emoji";
  /** The emoji in the bubble; null if it is unknown which one. */
  emoji: string | null;
  isRemoved: boolean;
}

/** A reaction as a caller requests it. */
export interface ParsedReaction extends SeenReaction {
  /** One of the six or an emoji in its full form, with a minus if it removes the reaction. */
  text: string;
  /** One of the six if the caller named it; null for an emoji. */
  named: Reaction | null;
  emoji: string;
}

/** The format of a reaction, as the end of an error message. */
export const REACTION_EXPECTED = `must be ${REACTIONS.join(", ")} or one emoji, with a minus before it to take it back`;

/** UTF-16 units. The longest emoji of Unicode 17, a family of four with tones of skin, has fewer than 40. */
const EMOJI_LENGTH_MAX = 64;

/** One emoji as Unicode recommends it for interchange (UTS 51): flags, keycaps and joined ones included. */
const EMOJI = /^\p{RGI_Emoji}$/v;

/** Selects the picture of a character that may also be text (U+FE0F). */
const AS_PICTURE = "\ufe0f";

/**
 * The emoji in `text`, in its full form: `❤` without its variation selector counts as ❤️. Null if `text` is not a
 * single emoji.
 */
function emojiOf(text: string): string | null {
  if (text.length > EMOJI_LENGTH_MAX) return null;
  return [text, text + AS_PICTURE].find((one) => EMOJI.test(one)) ?? null;
}

/** Characters of a sentence in which `emojiIn` looks, and the marks between which a phone quotes the message reacted to. */
const SENTENCE_LENGTH_MAX = 1_000;
const QUOTES = '“”„‟«»‹›「」『』"';
let graphemes: Intl.Segmenter | null = null;

/**
 * The first emoji in a phone's sentence about a reaction, in any language: `Reacted 🥓 to “Hi”`. The quoted message does not count.
 * Null if there is none.
 */
export function emojiIn(sentence: string): string | null {
  const text = sentence.slice(0, SENTENCE_LENGTH_MAX);
  const quotes = [...QUOTES].flatMap((mark) => [text.indexOf(mark), text.lastIndexOf(mark)]).filter((at) => at >= 0);
  const own = quotes.length === 0 ? text : text.slice(0, Math.min(...quotes)) + text.slice(Math.max(...quotes) + 1);
  // Made at its first use: it takes as long to make as many of the files of a start take to load.
  graphemes ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  for (const { segment } of graphemes.segment(own)) {
    const emoji = emojiOf(segment);
    if (emoji !== null) return emoji;
  }
  return null;
}

/** Parses a reaction of a caller; null if it is invalid. */
export function parseReaction(text: string): ParsedReaction | null {
  const isRemoved = text.startsWith("-");
  const bare = isRemoved ? text.slice(1) : text;
  const sign = isRemoved ? "-" : "";
  const named = REACTIONS.find((one) => one === bare) ?? null;
  if (named !== null) return { text, named, type: named, emoji: LOOKS[named].emoji, isRemoved };
  const emoji = emojiOf(bare);
  return emoji === null ? null : { text: sign + emoji, named: null, type: "emoji", emoji, isRemoved };
}

interface Look {
  emoji: string;
  done: string;
  what: string;
}

const LOOKS: Readonly<Record<Reaction, Look>> = {
  love: { emoji: "❤️", done: "Loved", what: "a heart" },
  like: { emoji: "👍", done: "Liked", what: "a like" },
  dislike: { emoji: "👎", done: "Disliked", what: "a dislike" },
  laugh: { emoji: "😂", done: "Laughed at", what: "a laugh" },
  emphasize: { emoji: "‼️", done: "Emphasized", what: "an exclamation" },
  question: { emoji: "❓", done: "Questioned", what: "a question mark" },
};

/** The emoji of one of the six. */
export function emojiOfReaction(type: Reaction): string {
  return LOOKS[type].emoji;
}

/** The text that a phone shows: `Loved “Hi”`. `targetText` is null if it is unknown or empty. */
export function reactionContent({ type, emoji, isRemoved }: SeenReaction, targetText: string | null): string {
  const shown = targetText === null || targetText === "" ? "an attachment" : `“${targetText}”`;
  if (type !== "emoji") return isRemoved ? `Removed ${LOOKS[type].what} from ${shown}` : `${LOOKS[type].done} ${shown}`;
  const used = emoji ?? "with an emoji";
  return isRemoved ? `Removed ${emoji ?? "an emoji"} from ${shown}` : `Reacted ${used} to ${shown}`;
}
