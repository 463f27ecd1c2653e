/** Readers of events miss none, although transactions of several processes end in another order than they drew their positions. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { NOW, Stage } from "../../../test/conformance/store-stage.ts";
import { isLockAwaited } from "../../../test/support/postgres.ts";
import { preparedPostgresForFile } from "../../../test/support/service-database.ts";
import { until } from "../../../test/support/wait.ts";
import { listEvents, newestPosition } from "../events.ts";
import { beginChanges, listChanges } from "../message-changes.ts";
import type { Store } from "../store.ts";
import { openPostgres } from "./store.ts";

const TIMES = { real: NOW, shiftMs: 0, retentionMs: null };

const postgres = preparedPostgresForFile();

/** Two processes on one database, and a connection of its own. */
async function withTwo(run: (one: Stage, other: Store, client: pg.Client) => Promise<void>): Promise<void> {
  const { url, drop } = await postgres.create();
  const one = await openPostgres(url, "member_1");
  const other = await openPostgres(url, "member_2");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await run(new Stage(one), other, client);
  } finally {
    await client.end();
    await Promise.all([one.close(), other.close()]);
    await drop();
  }
}

test("a feed that begins while a transaction is open has the change that the transaction commits later", async () => {
  await withTwo(async (stage, _other, client) => {
    const [late, early] = [await stage.addCustomer(), await stage.addCustomer()];
    const message = await stage.addMessage(late);
    const event = stage.event(message);
    await client.query("begin");
    await client.query(
      `insert into events (position, sequence, created_at, id, customer_id, type, correlation_id, bytes, message_id)
         values (nextval('event_positions'), 1, $1, $2, $3, $4, 'x', '{}', $5)`,
      [NOW, event.id, late.id, event.type, message.id],
    );
    await stage.addEvent(await stage.addMessage(early));
    const { db } = stage.store;
    const begun = await beginChanges(db, NOW, TIMES);
    const empty = await listChanges(db, late.id, {}, { place: begun, limit: 10, times: TIMES });
    assert.deepEqual(empty.messages, []);
    await client.query("commit");
    for (const place of [begun, empty.next]) {
      const { messages } = await listChanges(db, late.id, {}, { place, limit: 10, times: TIMES });
      assert.deepEqual(messages, [message]);
    }
  });
});

test("no event of a customer can be seen before one of the same customer with an earlier position", async () => {
  await withTwo(async (stage, other, client) => {
    const customer = await stage.addCustomer();
    const message = await stage.addMessage(customer);
    const [first, second] = [stage.event(message), stage.event(customer)];
    await client.query("begin");
    await client.query("select 1 from messages where id = $1 for update", [message.id]);
    // The first process has the turn of the customer, and waits for the row.
    const { id, version } = message;
    const waiting = stage.store.commit([
      { op: "update", table: "messages", id, version, set: { sequence: 1 } },
      { op: "event", event: first, callbackUrl: null },
    ]);
    await until(() => isLockAwaited(client));
    const behind = other.commit([{ op: "event", event: second, callbackUrl: null }]);
    assert.equal(await Promise.race([behind, setTimeout(200, "waiting")]), "waiting");
    assert.equal(await newestPosition(other.db, customer.id), null);
    await client.query("commit");
    for (const committed of await Promise.all([waiting, behind])) assert.equal(committed.result, "ok");
    const found = await listEvents(other.db, customer.id, {}, { order: "oldest", from: null, limit: 10 });
    assert.deepEqual(
      found.map((event) => event.id),
      [first.id, second.id],
    );
  });
});
