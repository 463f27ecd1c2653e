/** Tests of private files: their mode, that they are whole, and what is never overwritten. */

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { createPrivateFile, replacePrivateFile } from "./private-file.ts";

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "tightbeam-"));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

test("a private file is readable by its owner only, in a directory that is made for it", (t) => {
  const path = join(directory(t), "data", "secret");
  replacePrivateFile(path, "one");
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(statSync(join(path, "..")).mode & 0o777, 0o700);
});

test("replacing leaves the new text, mode 0600 and nothing beside it", (t) => {
  const dir = directory(t);
  const path = join(dir, "secret");
  writeFileSync(path, "old and longer", { mode: 0o644 });
  writeFileSync(`${path}.new`, "left behind by a crash");
  replacePrivateFile(path, "new");
  assert.equal(readFileSync(path, "utf8"), "new");
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(dir), ["secret"]);
});

test("creating never overwrites a file", (t) => {
  const dir = directory(t);
  const path = join(dir, "secret");
  assert.equal(createPrivateFile(path, "first"), true);
  assert.equal(createPrivateFile(path, "second"), false);
  assert.equal(readFileSync(path, "utf8"), "first");
  assert.deepEqual(readdirSync(dir), ["secret"]);
});

test("failing to create a file throws", (t) => {
  const path = join(directory(t), "file");
  writeFileSync(path, "");
  assert.throws(() => createPrivateFile(join(path, "secret"), "text"), /EEXIST|ENOTDIR/);
});
