/** Tests that a process learns of the deliveries that another one announced. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import { createDatabase, sharedPostgres } from "../../../test/support/postgres.ts";
import { openPostgres } from "./store.ts";

test("deliveries that one process announced are found by another, of the customers that it names, for a minute", async (t) => {
  const server = await sharedPostgres();
  t.after(() => server.stop());
  const { url } = await createDatabase(server);
  const [one, other] = [await openPostgres(url, "a"), await openPostgres(url, "b")];
  t.after(() => Promise.all([one.close(), other.close()]));
  const agos: number[] = [];
  const found = async (withinMs = 60_000) => {
    const all = (await other.shared?.announcedDeliveries(["cust_1", "cust_2"], withinMs)) ?? [];
    return all.map(({ agoMs, ...rest }) => {
      agos.push(agoMs);
      return rest;
    });
  };
  assert.deepEqual(await found(), []);
  const announced = { customerId: "cust_1", ids: ["dlv_1", "dlv_2"] } as const;
  await one.shared?.announceDeliveries(announced);
  await one.shared?.announceDeliveries({ customerId: "cust_3", ids: ["dlv_3"] });
  assert.deepEqual(await found(), [announced]);
  await sql`update announced_deliveries set at = at - interval '30 s'`.execute(one.db);
  assert.deepEqual([await found(10_000), await found()], [[], [announced]]);
  const [first = -1, second = 0] = agos;
  assert.ok(first >= 0 && second - first >= 30_000 && second < 60_000, agos.join());
  await sql`update announced_deliveries set at = at - interval '40 s'`.execute(one.db);
  await other.shared?.announceDeliveries({ customerId: "cust_3", ids: ["dlv_4"] });
  const { rows } = await sql<{ ids: string }>`select ids from announced_deliveries`.execute(one.db);
  assert.deepEqual(rows, [{ ids: '["dlv_4"]' }], "old ones are deleted");
});
