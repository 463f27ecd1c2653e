/** Tests that the first entry of a timeline is stored apart. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import pg from "pg";
import { NOW, Stage } from "../../../test/conformance/store-stage.ts";
import { sharedPostgresForFile } from "../../../test/support/postgres.ts";
import type { Message } from "../../core/message.ts";
import { findWireMessages } from "../wire.ts";
import { CopySource } from "./copy-source.ts";
import { openPostgres } from "./store.ts";

const postgres = sharedPostgresForFile();

const QUEUED = {
  status: "queued",
  at: NOW,
  channel: "sms",
  reason: 'by "Größe", and ], [',
  instanceId: "inst_1",
} as const;
const PENDING = { status: "pending", at: NOW + 5, channel: "sms", instanceId: "inst_1" } as const;
const SENT = { status: "sent", at: NOW + 9, channel: "sms", instanceId: "inst_1" } as const;

async function open(t: TestContext) {
  const { url, drop } = await postgres.create();
  const database = new pg.Client({ connectionString: url });
  await database.connect();
  const stage = new Stage(await openPostgres(url, "member_1"));
  t.after(async () => {
    await database.end();
    await stage.store.close();
    await drop();
  });
  const stored = async ({ id }: Message) => {
    const { rows } = await database.query<{ timeline: string; timeline_start: string | null }>(
      "select timeline, timeline_start from messages where id = $1",
      [id],
    );
    return rows[0];
  };
  return { stage, stored, database, url };
}

const PACKED_START = `["queued",${NOW},"sms","inst_1","by \\"Größe\\", and ], ["]`;

test("the first entry of a timeline is stored once, and every read has the whole timeline", async (t) => {
  const { stage, stored, url } = await open(t);
  const customer = await stage.addCustomer();
  const message = await stage.addMessage(customer, { timeline: [QUEUED], status: "queued", dueAt: NOW });
  assert.deepEqual(await stored(message), { timeline: "[]", timeline_start: PACKED_START });
  assert.deepEqual((await stage.one("messages", message.id)).timeline, [QUEUED]);
  const timeline = [QUEUED, PENDING, SENT];
  assert.equal(await stage.update("messages", message, { timeline: [...timeline] }), "ok");
  assert.deepEqual(await stored(message), {
    timeline: '[["pending",5,0,0],["sent",4,0,0]]',
    timeline_start: PACKED_START,
  });
  const { db } = stage.store;
  assert.deepEqual((await stage.claimMessages(stage.instanceId, 1))[0]?.timeline, timeline);
  assert.deepEqual((await findWireMessages(db, customer.id, [message.id]))[0]?.timeline, timeline);
  const source = await CopySource.open(url);
  const copied: unknown[] = [];
  const columns = [{ column: "timeline", type: "text" }] as const;
  for await (const { rows } of source.pages({ name: "messages", key: ["id"], columns }, null, 10))
    copied.push(...rows.flat());
  await source.close();
  assert.deepEqual(copied, [`[${PACKED_START},["pending",5,0,0],["sent",4,0,0]]`]);
});

test("a message without a timeline changes like others", async (t) => {
  const { stage, stored } = await open(t);
  const empty = await stage.addMessage(await stage.addCustomer(), { timeline: [] });
  assert.deepEqual(await stored(empty), { timeline: "[]", timeline_start: null });
  assert.equal(await stage.update("messages", empty, { timeline: [QUEUED, PENDING] }), "ok");
  assert.deepEqual(await stored(empty), { timeline: '[["pending",5,0,0]]', timeline_start: PACKED_START });
});

test("a damaged timeline cannot be read, although its first entry is apart", async (t) => {
  const { stage, database } = await open(t);
  const message = await stage.addMessage(await stage.addCustomer(), { timeline: [QUEUED, PENDING] });
  for (const damaged of ["", "x", "{}", "null", '[["pending"', "7"]) {
    await database.query("update messages set timeline = $2 where id = $1", [message.id, damaged]);
    await assert.rejects(stage.one("messages", message.id), /timeline is not JSON/, damaged);
  }
});
