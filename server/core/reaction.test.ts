/** Reactions as callers write them, and as phones show them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { REACTIONS } from "../../sdk/wire.ts";
import { parseReaction, reactionContent } from "./reaction.ts";

test("a reaction is one of the six, or one emoji, with a minus to take it back", () => {
  for (const named of REACTIONS) {
    assert.partialDeepStrictEqual(parseReaction(named), { text: named, named, isRemoved: false });
    assert.partialDeepStrictEqual(parseReaction(`-${named}`), { text: `-${named}`, named, isRemoved: true });
  }
  for (const emoji of ["😂", "🎉", "❤️", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇨🇭", "1️⃣", "🏴󠁧󠁢󠁳󠁣󠁴󠁿"]) {
    assert.partialDeepStrictEqual(parseReaction(emoji), { text: emoji, named: null, emoji, isRemoved: false });
    assert.partialDeepStrictEqual(parseReaction(`-${emoji}`), { text: `-${emoji}`, emoji, isRemoved: true });
  }
});

test("an emoji without the sign that makes it one, as some keyboards write it, counts as the emoji", () => {
  assert.partialDeepStrictEqual(parseReaction("❤"), { text: "❤️", emoji: "❤️" });
  assert.partialDeepStrictEqual(parseReaction("-☺"), { text: "-☺️", emoji: "☺️", isRemoved: true });
});

test("what is no single emoji is no reaction", () => {
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

test("the type of an emoji is the one of the six that says the same, else emphasize", () => {
  const types = (["😂", "🤣", "❤️", "👍🏽", "👎", "🎉", "🤔"] as const).map((emoji) => parseReaction(emoji)?.type);
  assert.deepEqual(types, ["laugh", "laugh", "love", "like", "dislike", "emphasize", "question"]);
});

test("a reaction is put into words as the phone that sent it does", () => {
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
