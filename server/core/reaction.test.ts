/** Reactions as callers write them, and as phones show them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { REACTIONS } from "../../sdk/wire.ts";
import { emojiIn, parseReaction, reactionContent } from "./reaction.ts";

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

test("an emoji has the type emoji, also if it looks like one of the six", () => {
  for (const emoji of ["😂", "❤️", "👍🏽", "👎", "🥓"]) assert.equal(parseReaction(emoji)?.type, "emoji", emoji);
});

test("emojiIn finds the emoji in a phone's sentence, in any language, and not in the message that it quotes", () => {
  const cases: [sentence: string, emoji: string | null][] = [
    ["Reacted 🥓 to “Hi”", "🥓"],
    ["Reacted 👩🏽‍🚀 to “Hi 🎉”", "👩🏽‍🚀"],
    ["Removed 🇩🇪 from “Hi”", "🇩🇪"],
    ["Reagierte mit 🔥 auf „Hi 🎉“", "🔥"],
    ["「Hi 🎉」に🔥でリアクションしました", "🔥"],
    ["A réagi avec ❤ à « Hi »", "❤️"],
    ['Reacted 1️⃣ to "1 🎉"', "1️⃣"],
    ["Emphasized “Hi 🎉”", null],
    ["Took 2 # of “Hi”", null],
    ["", null],
    ["“".repeat(100_000), null],
  ];
  for (const [sentence, emoji] of cases) assert.equal(emojiIn(sentence), emoji, sentence.slice(0, 50));
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
