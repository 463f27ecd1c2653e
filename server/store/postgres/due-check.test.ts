/** Tests of the comparison of queues and records. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { NOW, Stage } from "../../../test/conformance/store-stage.ts";
import { preparedPostgresForFile } from "../../../test/support/service-database.ts";
import { compareDueRows } from "./due-check.ts";
import { createPool } from "./pool.ts";
import { sqlOn } from "./sql.ts";
import { openPostgres } from "./store.ts";

const postgres = preparedPostgresForFile();

test("records without their row in the queue, and rows without their record, are counted and named", async () => {
  const { url, drop } = await postgres.create();
  const stage = new Stage(await openPostgres(url, "member_1"));
  const pool = createPool(url, 1);
  try {
    const customer = await stage.addCustomer();
    const [lost, kept] = [
      await stage.addMessage(customer, { dueAt: NOW }),
      await stage.addMessage(customer, { dueAt: NOW }),
    ];
    await stage.addMessage(customer);
    const event = stage.event(customer);
    const deliveries = [stage.delivery(event), stage.delivery(event, { dueAt: null, status: "succeeded" })];
    await stage.ok(deliveries.map((record) => ({ op: "insert", table: "deliveries", record })));
    const compare = () =>
      compareDueRows(
        sqlOn(pool, () => {}),
        () => performance.now(),
        60_000,
      );
    const well = { isComplete: true, missing: 0, wrong: 0, ids: [] };
    assert.deepEqual(await compare(), [
      { table: "messages", compared: 5, ...well },
      { table: "deliveries", compared: 3, ...well },
    ]);
    await pool.query("delete from due_messages where id = $1", [lost.id]);
    await pool.query("update due_messages set lane = 'another' where id = $1", [kept.id]);
    const [sent = "", settled = ""] = deliveries.map(({ id }) => id);
    await pool.query("update due_deliveries set id = $2 where id = $1", [sent, settled]);
    const [messages, found] = await compare();
    assert.deepEqual(messages, {
      ...well,
      table: "messages",
      compared: 4,
      missing: 1,
      wrong: 1,
      ids: [lost.id, kept.id],
    });
    assert.deepEqual(found, { ...well, table: "deliveries", compared: 3, missing: 1, wrong: 1, ids: [sent, settled] });
    const [none] = await compareDueRows(
      sqlOn(pool, () => {}),
      () => performance.now(),
      -1,
    );
    assert.deepEqual([none?.compared, none?.isComplete], [0, false]);
  } finally {
    await stage.store.close();
    await pool.end();
    await drop();
  }
});
