/** The texts of the search are made for one reader while the service goes on for all others. */

import assert from "node:assert/strict";
import test from "node:test";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { readDocument } from "../test/support/contract.ts";
import { cpuMsOf } from "../test/support/cpu-time.ts";
import { Library } from "./library.ts";
import { searchTexts } from "./search-texts.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** The longest that other requests may wait for it, in milliseconds of the processor. */
const BLOCK_MS_MAX = 50;

async function library(): Promise<Library> {
  return new Library(readDocument(), "http://127.0.0.1:8080", ROOT);
}

test("the texts of each page are made in a turn of their own, and without its HTML", async () => {
  const { pages } = await library();
  let turn = 0;
  let isDone = false;
  const turns: number[] = [];
  const watched = pages.map((page) => ({
    ...page,
    article: () => ({
      html: () => assert.fail(`${page.path} was rendered`),
      sections: () => {
        turns.push(turn);
        return page.article().sections();
      },
    }),
  }));
  const made = searchTexts({ pages: watched }).finally(() => {
    isDone = true;
  });
  while (!isDone) {
    turn += 1;
    await setImmediate();
  }
  assert.ok((await made).length > 100_000);
  assert.equal(turns.length, pages.length);
  assert.equal(new Set(turns).size, turns.length, "two pages in one turn");
});

test("no page of the search keeps the thread for 50 ms", async () => {
  const { pages } = await library();
  for (const page of pages) {
    const ms = Math.min(...[1, 2].map(() => cpuMsOf(() => page.article().sections())));
    assert.ok(ms < BLOCK_MS_MAX, `${page.path}: ${Math.round(ms)} ms`);
  }
});
