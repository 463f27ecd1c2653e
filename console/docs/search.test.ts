/** The search of the documentation: headings before text, every word, misspelt words, and the words around a match. */

import assert from "node:assert/strict";
import test from "node:test";
import { createSearch } from "./search.ts";

const find = createSearch([
  { path: "/docs/events", page: "Events", heading: "", text: "Every change of a message is an event." },
  {
    path: "/docs/events#retries",
    page: "Events",
    heading: "Retries",
    text: "A failed delivery is retried seven times.",
  },
  {
    path: "/docs/sandbox",
    page: "The sandbox",
    heading: "",
    text: `${"word ".repeat(100)}A failed delivery here. ${"more ".repeat(50)}`,
  },
  {
    path: "/docs/reference/messages#sendMessage",
    page: "Messages",
    heading: "Send a message",
    text: "POST /v1/messages TB_RETENTION",
  },
]);
const paths = (words: string) => find(words).map(({ path }) => path);

test("a heading counts more than the text, and the start of a word is enough", () => {
  assert.equal(paths("retr")[0], "/docs/events#retries");
  assert.equal(paths("send mess")[0], "/docs/reference/messages#sendMessage");
});

test("every word must be there, unless no section has them all", () => {
  assert.deepEqual(paths("failed delivery").sort(), ["/docs/events#retries", "/docs/sandbox"]);
  assert.deepEqual(paths("retention").length, 1);
  assert.ok(paths("retention zebra").includes("/docs/reference/messages#sendMessage"));
  assert.deepEqual(paths("zebra"), []);
});

test("a misspelt word is found", () => {
  assert.ok(paths("delivry").includes("/docs/events#retries"));
});

test("a hit shows the words around the match, and its page unless it is the page", () => {
  const hit = find("failed delivery").find(({ path }) => path === "/docs/sandbox");
  assert.match(hit?.excerpt ?? "", /^….*failed delivery here\..*…$/);
  assert.ok((hit?.excerpt.length ?? 0) <= 112);
  assert.deepEqual([hit?.title, hit?.page], ["The sandbox", null]);
  assert.equal(find("retries")[0]?.page, "Events");
});
