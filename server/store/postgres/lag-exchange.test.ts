/** Tests of what processes tell each other of their lags. */

import assert from "node:assert/strict";
import { test } from "node:test";
import pg from "pg";
import { preparedPostgresForFile } from "../../../test/support/service-database.ts";
import type { MemberBeat } from "../members.ts";
import type { Store } from "../store.ts";
import { openPostgres } from "./store.ts";

const postgres = preparedPostgresForFile();

const signOf = (id: string): MemberBeat => ({
  member: { id, role: "worker", url: null },
  leases: [],
  leaseMs: 60_000,
  deadAfterMs: 60_000,
});

test("each process learns the longest lag of the others, without a beat", async (t) => {
  const { url, drop } = await postgres.create();
  const ids = ["member_1", "member_2", "member_3"];
  const stores = await Promise.all(ids.map((id) => openPostgres(url, id)));
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  t.after(async () => {
    await Promise.all([...stores.map((store) => store.close()), admin.end()]);
    await drop();
  });
  const exchange = (store: Store | undefined, lagMs: number) => store?.shared?.exchangeLag(lagMs, 600_000);
  const [first, second, third] = stores;
  assert.equal(await exchange(first, 10), 0, "nobody has joined");
  for (const [index, store] of stores.entries()) await store.beat(signOf(ids[index] ?? ""));
  assert.equal(await exchange(first, 700), 0);
  assert.equal(await exchange(second, 20), 700);
  assert.equal(await exchange(third, 0), 700);
  assert.equal(await exchange(first, 0), 20);
  assert.equal(await exchange(third, 0), 20);
  await admin.query("update members set beat_at = beat_at - interval '1 h' where id = 'member_2'");
  assert.equal(await exchange(third, 0), 0, "a dead process lags no more");
});
