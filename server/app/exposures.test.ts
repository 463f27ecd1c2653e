/** A start says which of its files other accounts may read, and says nothing where only its own account may. */

import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { findExposures } from "./exposures.ts";

const UID = 1_000;

function directory(t: TestContext, modes: Record<string, number>, mode: number): string {
  const path = mkdtempSync(join(tmpdir(), "tightbeam-exposures-"));
  t.after(() => rmSync(path, { recursive: true }));
  for (const [name, fileMode] of Object.entries(modes)) {
    writeFileSync(join(path, name), "");
    chmodSync(join(path, name), fileMode);
  }
  chmodSync(path, mode);
  return path;
}

test("a data directory and a secret.key that others may read are named with the chmod that closes them", (t) => {
  const path = directory(t, { "secret.key": 0o644, "credentials.json": 0o600, "notes.txt": 0o644 }, 0o755);
  assert.deepEqual(findExposures(path, UID), [
    `${path} is open to other accounts (mode 755): run chmod 700 ${path}`,
    `${path}/secret.key is open to other accounts (mode 644): run chmod 600 ${path}/secret.key`,
  ]);
});

test("a data directory of mode 0700, one that is not there yet, and a system without accounts are no exposures", (t) => {
  const path = directory(t, { "secret.key": 0o644 }, 0o700);
  assert.deepEqual(findExposures(path, UID), [], "nobody else reaches what is in it");
  assert.deepEqual(findExposures(join(path, "none"), UID), []);
  assert.deepEqual(findExposures(directory(t, {}, 0o755), undefined), []);
});

test("a start as root is an exposure", (t) => {
  assert.match(findExposures(directory(t, {}, 0o700), 0).join(), /^the service runs as root/);
});
