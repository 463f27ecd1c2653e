/** Tests of a group of jobs while PostgreSQL does not answer, without a server. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type pg from "pg";
import type { Job } from "../jobs/jobs.ts";
import { Partitions } from "./partitions.ts";
import { PostgresWriter } from "./writer.ts";

const GROUP: readonly Job[] = [
  ["commit", [["put", "settings", ["word", "value"]]]],
  ["commitAll", [[["put", "settings", ["word", "other"]]]]],
  ["quarantine", []],
  ["releaseLeases", 1, 1],
  ["leasedPairs", "inst_1"],
  ["release", [1]],
  ["leave", "member_1"],
];

/** Runs the group while each connection fails after some time. Returns how many were tried. */
async function connectionsOf(failsAfterMs: number): Promise<number> {
  let tried = 0;
  const fail = async () => {
    tried += 1;
    await setTimeout(failsAfterMs);
    throw new Error("timeout exceeded when trying to connect");
  };
  const pool = { connect: fail, query: fail, on: () => {} } as unknown as pg.Pool;
  const writer = new PostgresWriter(pool, "member_1", new Partitions(pool, null));
  const { results } = await writer.runGroup(GROUP);
  const message = "timeout exceeded when trying to connect";
  for (const result of results) assert.deepEqual(result, { error: "unavailable", message });
  assert.equal(results.length, GROUP.length);
  return tried;
}

test("a group waits once for a server that does not answer, and not once for each of its jobs", async () => {
  assert.equal(await connectionsOf(1_100), 1);
});

test("while connections are refused at once, each job tries one: the server may be back", async () => {
  assert.equal(await connectionsOf(1), GROUP.length - 1);
});
