/** Loaded by `--import` into the process of a test file: after its first failed test no other one runs, and its hooks still do. */

import { afterEach, beforeEach } from "node:test";
import { isMainThread } from "node:worker_threads";

let hasFailed = false;

if (isMainThread) {
  beforeEach(() => {
    if (hasFailed) throw new Error("an earlier test has failed");
  });
  afterEach((t) => {
    hasFailed ||= "passed" in t && !t.passed;
  });
}
