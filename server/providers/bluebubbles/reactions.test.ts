/** Tests of reactions: every form in which the Mac's rows have them, and rows that have none. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { contentOf, tapbackOf, withoutPart } from "./reactions.ts";
import { type MacMessage, parseMessage } from "./records.ts";

function row(more: object): MacMessage {
  const parsed = parseMessage({ guid: "R", associatedMessageGuid: "p:0/TARGET", ...more });
  assert.ok(parsed !== null);
  return parsed;
}

it("is recognised by name and by number, added and removed", () => {
  const forms: [type: string, reaction: string, isRemoved: boolean][] = [
    ["love", "love", false],
    ["-love", "love", true],
    ["2000", "love", false],
    ["3000", "love", true],
    ["like", "like", false],
    ["2001", "like", false],
    ["-dislike", "dislike", true],
    ["3002", "dislike", true],
    ["laugh", "laugh", false],
    ["emphasize", "emphasize", false],
    ["2005", "question", false],
    ["-question", "question", true],
  ];
  for (const [type, reaction, isRemoved] of forms) {
    const read = tapbackOf(row({ associatedMessageType: type }));
    assert.deepEqual([read?.target, read?.reaction, read?.isRemoved], ["TARGET", reaction, isRemoved], type);
  }
});

it("is an emoji for any other, with the emoji of the row or of its text", () => {
  const forms: [more: object, emoji: string | null][] = [
    [{ associatedMessageEmoji: "🎉" }, "🎉"],
    [{ associatedMessageEmoji: "👍🏽" }, "👍🏽"],
    [{ text: "Reacted 🥓 to “Hi 🎉”" }, "🥓"],
    [{ text: "Reagierte mit 🔥 auf „Hi“" }, "🔥"],
    [{ text: "Reagierte" }, null],
  ];
  for (const [more, emoji] of forms) {
    const read = tapbackOf(row({ associatedMessageType: "2006", ...more }));
    assert.deepEqual([read?.reaction, read?.emoji, read?.isRemoved], ["emoji", emoji, false], JSON.stringify(more));
  }
  assert.equal(tapbackOf(row({ associatedMessageType: "3006", text: "Removed 🔥 from “Hi”" }))?.isRemoved, true);
});

it("is absent if the row has no target or is something else", () => {
  for (const type of [
    null,
    "",
    "0",
    "0.0",
    "2",
    "3",
    "1000",
    "sticker",
    "2007",
    "4000",
    "-",
    "loved",
    "2000.5",
    "1e3",
  ]) {
    assert.equal(tapbackOf(row({ associatedMessageType: type })), null, String(type));
  }
  assert.equal(tapbackOf(row({ associatedMessageGuid: null, associatedMessageType: "love" })), null);
});

it("refers to the message, whichever part of it is named", () => {
  const forms = ["p:0/G", "p:12/G", "bp:G", "G"];
  for (const guid of forms) assert.equal(withoutPart(guid), "G", guid);
  for (const guid of [null, "", "bp:", "p:0/"]) assert.equal(withoutPart(guid), null, String(guid));
});

it("has the text that a phone would show", () => {
  const love = { target: "G", reaction: "love", emoji: "❤️", isRemoved: false } as const;
  assert.equal(contentOf(love, "Hi"), "Loved “Hi”");
  assert.equal(contentOf({ ...love, isRemoved: true }, "Hi"), "Removed a heart from “Hi”");
  assert.equal(contentOf(love, null), "Loved an attachment");
  const party = { ...love, reaction: "emoji", emoji: "🎉" } as const;
  assert.equal(contentOf(party, "Hi"), "Reacted 🎉 to “Hi”");
  assert.equal(contentOf({ ...party, isRemoved: true }, "Hi"), "Removed 🎉 from “Hi”");
  assert.equal(contentOf({ ...party, emoji: null }, "Hi"), "Reacted with an emoji to “Hi”");
});
