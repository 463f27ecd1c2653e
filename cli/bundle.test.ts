/** The bundle is complete, and V8 keeps it in one byte a character. */

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { bundle } from "./bundle.ts";

test("the sources make a bundle with a file for each thread, in ASCII", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "tightbeam-bundle-"));
  t.after(() => rmSync(directory, { recursive: true }));
  await bundle(fileURLToPath(new URL("..", import.meta.url)), directory);
  const files = readdirSync(directory);
  const code = files.map((file) => readFileSync(join(directory, file), "utf8"));
  for (const entry of ["main.js", "writer-worker.js", "reader-worker.js", "group-worker.js", "deliver-worker.js"])
    assert.ok(files.includes(entry), entry);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII begins with them.
  assert.ok(code.every((text) => /^[\x00-\x7f]*$/.test(text)));
});
