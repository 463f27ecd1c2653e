/** The table of faults: each can be planted, and names the quick test that catches it. */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { FAULTS, plant } from "./faults.ts";

const ROOT = new URL("../../", import.meta.url);

test("each fault has a name of its own, changes its source, and names a quick test file", () => {
  assert.equal(new Set(FAULTS.map(({ name }) => name)).size, FAULTS.length);
  for (const fault of FAULTS) {
    const source = readFileSync(new URL(fault.file, ROOT), "utf8");
    assert.notEqual(plant(fault, source), source, fault.name);
    assert.ok(existsSync(new URL(fault.caughtBy, ROOT)), fault.caughtBy);
    assert.match(fault.caughtBy, /(?<!\.long)\.test\.ts$/);
  }
});
