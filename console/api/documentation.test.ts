/** The palette's search of the documentation: titles only, pages before their parts. */

import assert from "node:assert/strict";
import test from "node:test";
import { findSections } from "./documentation.ts";

const SECTIONS = [
  { path: "/docs/reference/messages#sendMessage", page: "Messages", heading: "Send a message" },
  { path: "/docs/guides/sending", page: "Send messages", heading: "" },
  { path: "/docs/events", page: "Events", heading: "" },
];

test("the palette finds sections whose title has every word, a page before a part of a page", () => {
  const paths = (words: string) => findSections(SECTIONS, words).map(({ path }) => path);
  assert.deepEqual(paths("send  MESS"), ["/docs/guides/sending", "/docs/reference/messages#sendMessage"]);
  assert.deepEqual(paths("send events"), []);
  assert.deepEqual(paths("events"), ["/docs/events"]);
});
