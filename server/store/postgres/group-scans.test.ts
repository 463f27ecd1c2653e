/** Tests that a group scans indexes once for each of its rows, or once for each lane, however many rows it has. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { NOW, Stage } from "../../../test/conformance/store-stage.ts";
import { outcomeOf } from "../../../test/support/delivery-members.ts";
import { FRONT } from "../../../test/support/due.ts";
import { preparedPostgresForFile } from "../../../test/support/service-database.ts";
import { readsOf } from "../../../test/support/table-reads.ts";
import type { Endpoint } from "../../core/webhook.ts";
import { type DueRow, type DueRows, encodeTransaction, type Job, type PushedRow } from "../jobs/jobs.ts";
import { Partitions } from "./partitions.ts";
import { createPool } from "./pool.ts";
import { openPostgres } from "./store.ts";
import { PostgresWriter } from "./writer.ts";

const postgres = preparedPostgresForFile();

const ENDPOINTS = 4;
/** Groups before the one that is counted: by then each statement has a kept plan. */
const GROUPS = 3;

/** The row of a new delivery. */
function newOf(change: PushedRow): DueRow[] {
  if (change[0] !== "new") return [];
  const [, ...row] = change;
  return [row];
}

for (const size of [16, 64])
  for (const how of ["pushed", "read"] as const)
    test(`a group of ${size} messages, whose ${ENDPOINTS * size} deliveries are ${how}, scans an index once a delivery`, async (t) => {
      const { url, drop } = await postgres.create();
      const store = await openPostgres(url, "member_1");
      const pool = createPool(url, 1);
      t.after(async () => {
        await Promise.all([store.close(), pool.end()]);
        await drop();
      });
      const stage = new Stage(store);
      const customer = await stage.addCustomer();
      const endpoints: Endpoint[] = [];
      for (let endpoint = 0; endpoint < ENDPOINTS; endpoint += 1) endpoints.push(await stage.addEndpoint(customer));
      const writer = new PostgresWriter(pool, "member_2", new Partitions(pool, null));
      const lanes = endpoints.map(({ id: lane }) => ({ lane, after: FRONT, limit: size }));
      const read: Job = ["dueDeliveries", { lanes, now: NOW, bytesMax: 2 ** 30 }];
      // New deliveries of lanes that were read to their ends are pushed.
      if (how === "pushed") await writer.runGroup([["hold", true], read]);
      let open: DueRow[] = [];
      const runGroup = async () => {
        const accepted = Array.from({ length: size }, (_, index): Job => {
          const record = stage.message(customer, { dueAt: NOW, to: `+1600555${1_000 + index}` });
          const event = { op: "event", event: stage.event(record), callbackUrl: null } as const;
          return ["commit", encodeTransaction([{ op: "insert", table: "messages", record }, event])];
        });
        const ended: Job = ["finishDeliveries", open.map((row) => outcomeOf(row, null))];
        const { pushed, results } = await writer.runGroup([...accepted, ended]);
        assert.ok(results.every((result) => "value" in result));
        open = pushed.flatMap(newOf);
      };
      const claim = async () => {
        if (how === "pushed") return;
        const { results } = await writer.runGroup([read]);
        const [claimed] = results;
        assert.ok(claimed !== undefined && "value" in claimed);
        open = (claimed.value as DueRows).rows;
      };
      for (let group = 0; group < GROUPS; group += 1) {
        await runGroup();
        await claim();
      }
      const deliveries = ENDPOINTS * size;
      assert.equal(open.length, deliveries);
      const scansOf = async (tables: string, work: () => Promise<void>) => (await readsOf(pool, work, tables)).scans;
      const ofRecords = await scansOf("deliveries%", runGroup);
      assert.ok(ofRecords <= deliveries + 10, `${ofRecords} scans of deliveries in a group`);
      await claim();
      const ofQueue = await scansOf("due_%", runGroup);
      assert.ok(ofQueue <= 20 * ENDPOINTS, `${ofQueue} scans of the queues in a group`);
      const ofClaim = await scansOf("d%deliveries%", claim);
      assert.ok(ofClaim <= 10 * ENDPOINTS, `${ofClaim} scans in a claim`);
    });
