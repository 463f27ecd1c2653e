/** The words by which people end messages, and begin them again. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { keywordOf } from "./opt-out.ts";

test("STOP with punctuation around it is an opt-out: STOP., Quit! and the like", () => {
  for (const text of ["STOP.", "Quit!", "stop!!!", "“Stop”", "(unsubscribe)", " ...end?\n", "¡Stop!", "STOP。"]) {
    assert.equal(keywordOf(text)?.intent, "stop", text);
  }
  assert.deepEqual(keywordOf("Start!"), { intent: "start", word: "START" });
  for (const text of ["s-t-o-p", "stop.it", "don't stop", "...", "stop 🛑"]) assert.equal(keywordOf(text), null, text);
});

test("a message that consists of a keyword is one, in any case and with blanks around it", () => {
  for (const word of ["STOP", "UNSUBSCRIBE", "END", "QUIT", "CANCEL", "STOPALL", "REVOKE", "OPTOUT"]) {
    assert.deepEqual(keywordOf(word), { intent: "stop", word });
    assert.deepEqual(keywordOf(` \n${word.toLowerCase()}\t`), { intent: "stop", word });
  }
  for (const word of ["START", "UNSTOP", "YES"]) assert.deepEqual(keywordOf(word), { intent: "start", word });
});

test("a sentence that contains a keyword is no keyword, and neither is an empty text", () => {
  for (const text of ["stop it", "please stop", "s t o p", "yes please", "", "  ", null]) {
    assert.equal(keywordOf(text), null, String(text));
  }
});
