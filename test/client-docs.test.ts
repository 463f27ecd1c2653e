/** The client's doc comments: every method has one, and it says what the OpenAPI document says of its operation. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { documentedSources, listMethods } from "./support/client-docs.ts";
import { readDocument } from "./support/contract.ts";

function sourceOf(file: string): string {
  return readFileSync(new URL(`../sdk/${file}`, import.meta.url), "utf8");
}

test("every method of the client begins its comment with its operation's summary and first sentence: npm run docs writes them", async () => {
  const sources = await documentedSources(readDocument());
  assert.ok(sources.size >= 8);
  for (const [file, expected] of sources) assert.equal(sourceOf(file), expected, `sdk/${file}`);
});

test("no method of the client is without a comment", async () => {
  const files = new Set((await listMethods()).map(({ file }) => file));
  const bare = [...files].flatMap((file) => {
    const lines = sourceOf(file).split("\n");
    return lines.flatMap((line, at) => {
      const isMethod = /^ {4,6}\w+: (<.*>)?\(/.test(line) || /^ {4}(list|messages),$/.test(line);
      return isMethod && !lines[at - 1]?.endsWith("*/") ? [`sdk/${file}:${at + 1}: ${line.trim()}`] : [];
    });
  });
  assert.deepEqual(bare, []);
});
