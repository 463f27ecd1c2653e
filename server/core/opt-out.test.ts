/** The words by which people end messages, and begin them again. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { cpuMsOf } from "../../test/support/cpu-time.ts";
import { keywordOf } from "./opt-out.ts";

test("STOP with punctuation around it is an opt-out: STOP., Quit! and the like", () => {
  for (const text of ["STOP.", "Quit!", "stop!!!", "“Stop”", "(unsubscribe)", " ...end?\n", "¡Stop!", "STOP。"]) {
    assert.equal(keywordOf(text)?.intent, "stop", text);
  }
  assert.deepEqual(keywordOf("Start!"), { intent: "start", word: "START" });
  for (const text of ["stop.it", "don't stop", "...", "stop 🛑"]) assert.equal(keywordOf(text), null, text);
});

test("a message that consists of a keyword is one, in any case and with blanks around it", () => {
  for (const word of ["STOP", "UNSUBSCRIBE", "END", "QUIT", "CANCEL", "STOPALL", "REVOKE", "OPTOUT"]) {
    assert.deepEqual(keywordOf(word), { intent: "stop", word });
    assert.deepEqual(keywordOf(` \n${word.toLowerCase()}\t`), { intent: "stop", word });
  }
  for (const word of ["START", "UNSTOP", "YES"]) assert.deepEqual(keywordOf(word), { intent: "start", word });
});

test("a sentence that contains a keyword is no keyword, and neither is an empty text", () => {
  for (const text of ["stop it", "please stop", "yes please", "", "  ", null]) {
    assert.equal(keywordOf(text), null, String(text));
  }
});

test("hyphens, blanks, invisible and full-width characters in a keyword do not count", () => {
  for (const text of [
    "opt-out",
    "Opt Out",
    "stop all",
    "s-t-o-p",
    "ＳＴＯＰ",
    "ST\u200bOP",
    "\ufeffstop",
    "st\u00adop",
    "stop\u200e",
  ]) {
    assert.equal(keywordOf(text)?.intent, "stop", JSON.stringify(text));
  }
});

test("the first line with a character is compared, unless it has more than 64 characters", () => {
  for (const text of ["STOP\nSent from my phone", "\n\n stop\r\nJane", "stop\u2028Jane", `stop${".".repeat(60)}`]) {
    assert.deepEqual(keywordOf(text), { intent: "stop", word: "STOP" }, JSON.stringify(text));
  }
  const long = ["Please\nSTOP", `stop${".".repeat(61)}`, `${".".repeat(61)}stop`, `${"\u{1f6d1}".repeat(61)}stop`];
  for (const text of long) assert.equal(keywordOf(text), null, JSON.stringify(text));
});

test("a text of dots or blanks costs at most twice the processor time of as many letters", () => {
  const cost = (character: string) =>
    cpuMsOf(() => {
      for (let round = 0; round < 50; round += 1) keywordOf(`a${character.repeat(20_000)}a`);
    });
  // A comparison that looks at each pair of characters takes minutes.
  const FLOOR_MS = 100;
  const most = Math.max(FLOOR_MS, 2 * cost("a"));
  for (const character of [".", "!", "…", "\u200b", " ", "\n"]) {
    assert.ok(cost(character) <= most, JSON.stringify(character));
  }
});
