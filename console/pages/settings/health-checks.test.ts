/** Each check of the health has words, and something that mends it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { findCure, titleOfCheck } from "./health-checks.ts";

test("a check has a title, that of an instance is its name, and one that is not known keeps its name", () => {
  const instances = [{ id: "inst_1", name: "Mac in the attic" }];
  assert.equal(titleOfCheck("rows", instances), "Stored rows");
  assert.equal(titleOfCheck("inst_1", instances), "Mac in the attic");
  assert.equal(titleOfCheck("inst_2", instances), "inst_2");
  assert.equal(titleOfCheck("new", []), "new");
});

test("channels lead to the page that the session may read, other checks to a command", () => {
  assert.deepEqual(findCure("channels", "admin"), { path: "/settings/instances", verb: "Open the instances" });
  assert.deepEqual(findCure("channels", "customer"), { path: "/settings/numbers", verb: "Open the numbers" });
  assert.deepEqual(findCure("inst_1", "admin"), { path: "/settings/instances", verb: "Open the instances" });
  assert.deepEqual(findCure("rows", "admin"), { command: "npx tightbeam quarantine" });
  assert.deepEqual(findCure("database", "customer"), { command: "npx tightbeam doctor" });
});
