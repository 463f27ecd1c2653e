/** The words by which people end messages, and begin them again. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { cpuMsOf } from "../../test/support/cpu-time.ts";
import { asksForHelp, comparedForm, fixedStopWord, keywordOf, wordMap } from "./opt-out.ts";
import { ENDINGS, OPENINGS, RESUME_WORDS, STOP_SENTENCES, STOP_WORDS, textsOf } from "./opt-out-words.ts";

test("STOP with punctuation around it is an opt-out: STOP., Quit! and the like", () => {
  for (const text of ["STOP.", "Quit!", "stop!!!", "“Stop”", "(unsubscribe)", " ...end?\n", "¡Stop!", "STOP。"]) {
    assert.equal(keywordOf(text)?.intent, "stop", text);
  }
  assert.deepEqual(keywordOf("Start!"), { intent: "start", word: "START" });
  for (const text of ["stop.it", "don't stop", "...", "stop 🛑", "🛑"]) assert.equal(keywordOf(text), null, text);
});

test("a message that consists of a word of the table is a keyword, in any case and with blanks around it", () => {
  const words = STOP_WORDS.flatMap(({ rows }) => rows).flatMap(textsOf);
  for (const word of words) {
    assert.deepEqual(keywordOf(word), { intent: "stop", word });
    assert.deepEqual(keywordOf(` \n${word.toLowerCase()}\t`), { intent: "stop", word });
    for (const text of [`${word} it`, `the ${word}`, `do not ${word}`, `${word}${word}`]) {
      assert.equal(keywordOf(text.toLowerCase()), null, text);
    }
  }
  for (const word of RESUME_WORDS) assert.deepEqual(keywordOf(word), { intent: "start", word });
  for (const text of ["YES", "HELP", "restart", "start now", "let us start"]) assert.equal(keywordOf(text), null, text);
});

test("a sentence of the table is a keyword, also with please and thanks, and a longer one is none", () => {
  const sentences = STOP_SENTENCES.flatMap(({ rows }) => rows).flatMap(textsOf);
  for (const sentence of sentences) {
    for (const opening of OPENINGS) {
      for (const ending of ENDINGS) {
        const text = `${opening} ${sentence} ${ending}`.toLowerCase();
        assert.equal(keywordOf(text)?.intent, "stop", text);
      }
    }
    for (const text of [`${sentence} or else`, `he said ${sentence}`, `${sentence} tomorrow`]) {
      assert.equal(keywordOf(text.toLowerCase()), null, text);
    }
  }
});

test("every text of the table is short enough to be compared, and each row has a source", () => {
  for (const { source, rows } of [...STOP_WORDS, ...STOP_SENTENCES]) {
    assert.notEqual(source, "");
    for (const text of rows.flatMap(textsOf)) assert.ok(text.length <= 64 && /^[A-Z ]+$/.test(text), text);
  }
});

test("a contact who wants no more messages is understood in everyday words", () => {
  for (const text of [
    "Please stop",
    "stop please!",
    "Stop texting me",
    "STOP TEXTING ME!!!",
    "Stop sending me these messages",
    "Please stop sending me texts.",
    "Don't text me",
    "Don’t text me again",
    "do not contact me anymore",
    "Unsubscribe me",
    "Please unsubscribe me from this list. Thanks",
    "Remove me from your list",
    "please remove my number",
    "Take me off your list",
    "opt me out",
    "I opt out.",
    "I want to opt out",
    "No more texts please",
    "I don't want these messages",
    "Leave me alone",
    "I revoke my consent",
    "Stop all texts to me!",
    "stop, thank you",
    "Arrêt",
    "ARRÊTEZ SVP",
    "Arrêtez de m'envoyer des textos",
    "Désabonnez-moi s.v.p.",
  ]) {
    assert.equal(keywordOf(text)?.intent, "stop", text);
  }
});

test("a sentence that only contains a keyword is no keyword, and neither is an empty text", () => {
  for (const text of [
    "stop it",
    "I will stop by later",
    "Can you stop by at 5?",
    "please don't stop",
    "Stop sending me flowers, they make me sneeze",
    "When does the bus stop?",
    "non-stop",
    "Please cancel my appointment",
    "Cancel my order and refund me",
    "cancel please",
    "Don't cancel",
    "The end",
    "end of the week",
    "I quit my job",
    "quit smoking",
    "Please remove the onions",
    "How do I opt out of the insurance?",
    "How do I unsubscribe?",
    "Do not unsubscribe me",
    "I did not ask to stop",
    "Text me",
    "don't text and drive",
    "please contact me",
    "no more pasta",
    "no more",
    "fin de semana",
    "C'est la fin",
    "l'arrêt de bus",
    "annuler ma commande",
    "TD Bank",
    "yes please",
    "no",
    "",
    "  ",
    null,
  ]) {
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
    "s\u2060top\ufe0f",
    "\u2800stop\u2800",
    "\ufffcstop",
    "ST\u3164OP",
    "𝐒𝐓𝐎𝐏",
    "ⓢⓣⓞⓟ",
    "s̶t̶o̶p̶",
    "QUİT",
    "unsubscrıbe",
    "un-subscribe",
    "OPT—OUT",
    "`stop`",
    "~STOP~",
    "<stop>",
  ]) {
    assert.equal(keywordOf(text)?.intent, "stop", JSON.stringify(text));
  }
});

test("the first line with a character is compared, unless it has more than 64 characters", () => {
  for (const text of [
    "STOP\nSent from my phone",
    "\n\n stop\r\nJane",
    "stop\u2028Jane",
    "\u200b\nstop\n-- \nJane",
    `stop${".".repeat(60)}`,
  ]) {
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

test("words that a customer chose count like the fixed ones, which go before them", () => {
  const words = { stop: wordMap(["Pare", "no más"]), resume: wordMap(["ALTA", "yes"]) };
  assert.deepEqual(keywordOf("pare!", words), { intent: "stop", word: "Pare" });
  assert.deepEqual(keywordOf("NO MAS", words), { intent: "stop", word: "no más" });
  assert.deepEqual(keywordOf("Yes.", words), { intent: "start", word: "yes" });
  assert.equal(keywordOf("start", words), null, "the list of words that begin messages is whole");
  assert.deepEqual(keywordOf("stop", { stop: new Map(), resume: wordMap(["stop"]) }), { intent: "stop", word: "STOP" });
  assert.deepEqual([fixedStopWord("un-subscribe"), fixedStopWord("pare")], ["UNSUBSCRIBE", null]);
  assert.equal(comparedForm("…"), "");
});

test("HELP, INFO and AIDE ask for help when they stand alone", () => {
  for (const text of ["help", "Info?", "AIDE\nJean"]) assert.ok(asksForHelp(text), text);
  for (const text of ["help me", "more info", "stop", "", null]) assert.equal(asksForHelp(text), false, String(text));
});
