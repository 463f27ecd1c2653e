/** Reactions as callers write them, and as phones show them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { REACTIONS } from "../../sdk/wire.ts";
import { parseReaction, reactionContent } from "./reaction.ts";

test("a reaction is one of the six names or one emoji, and a minus before it removes it", () => {
  for (const named of REACTIONS) {
    assert.partialDeepStrictEqual(parseReaction(named), { text: named, named, isRemoved: false });
    assert.partialDeepStrictEqual(parseReaction(`-${named}`), { text: `-${named}`, named, isRemoved: true });
  }
  for (const emoji of ["😂", "🎉", "❤️", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇨🇭", "1️⃣", "🏴󠁧󠁢󠁳󠁣󠁴󠁿"]) {
    assert.partialDeepStrictEqual(parseReaction(emoji), { text: emoji, named: null, emoji, isRemoved: false });
    assert.partialDeepStrictEqual(parseReaction(`-${emoji}`), { text: `-${emoji}`, emoji, isRemoved: true });
  }
});

test("an emoji without its variation selector, as some keyboards write it, counts as the emoji", () => {
  assert.partialDeepStrictEqual(parseReaction("❤"), { text: "❤️", emoji: "❤️" });
  assert.partialDeepStrictEqual(parseReaction("-☺"), { text: "-☺️", emoji: "☺️", isRemoved: true });
});

test("a text that is neither a name nor a single emoji is no reaction", () => {
  const none = [
    "",
    "-",
    "--love",
    "LOVE",
    "hug",
    "a",
    "1",
    "#",
    "😂😂",
    "😂 ",
    " 😂",
    "😂a",
    "👍👎",

    "‍",
    "- 😂",
    "é",
  ];
  for (const text of [...none, "😂".repeat(1_000)]) assert.equal(parseReaction(text), null, JSON.stringify(text));
});

test("an emoji has the type of the six with the same meaning, else emphasize", () => {
  const types = (["😂", "🤣", "❤️", "👍🏽", "👎", "🎉", "🤔"] as const).map((emoji) => parseReaction(emoji)?.type);
  assert.deepEqual(types, ["laugh", "laugh", "love", "like", "dislike", "emphasize", "question"]);
});

test("reactionContent describes a reaction in the words of the sender's phone", () => {
  const cases: [command: string, text: string | null, content: string][] = [
    ["love", "Hi", "Loved “Hi”"],
    ["-laugh", "Hi", "Removed a laugh from “Hi”"],
    ["🎉", "Hi", "Reacted 🎉 to “Hi”"],
    ["-🎉", null, "Removed 🎉 from an attachment"],
  ];
  for (const [command, text, content] of cases) {
    const reaction = parseReaction(command) ?? assert.fail(command);
    assert.equal(reactionContent(reaction, text), content);
  }
});
