/** Tests that a store notices that its server is gone or takes no writes, and that it is back. */

import { after, before, test } from "node:test";
import pg from "pg";
import { createDatabase, type EmbeddedServer, startEmbedded } from "../../../test/support/postgres.ts";
import { until } from "../../../test/support/wait.ts";
import { findSetting } from "../settings.ts";
import { type Store, StoreUnavailable, type Transaction } from "../store.ts";
import { createPool } from "./pool.ts";
import { openPostgres } from "./store.ts";

/** A store looks for its server four times a second; the rest is for a busy machine. */
const BACK_MS_MAX = 15_000;

let server: EmbeddedServer;
before(async () => {
  server = await startEmbedded();
});
after(() => server.stop());

const put = (value: string): Transaction => [{ op: "put", table: "settings", record: { name: "word", value } }];

async function openStore(): Promise<{ store: Store; url: string; seen: boolean[]; forgotten: { count: number } }> {
  const { url } = await createDatabase(server);
  const seen: boolean[] = [];
  const store = await openPostgres(url, "member_1", { reachable: (trouble) => void seen.push(trouble === null) });
  const forgotten = { count: 0 };
  store.watchUncertain(() => {
    forgotten.count += 1;
  });
  await store.commit(put("first"));
  return { store, url, seen, forgotten };
}

test("while the server is down every call throws StoreUnavailable, and the store works once it is back", async (t) => {
  const { store, seen, forgotten } = await openStore();
  t.after(() => store.close());
  await server.kill();
  await until(async () => !store.isAvailable, { what: "the store notices it without a call" });
  await t.assert.rejects(store.commit(put("second")), StoreUnavailable);
  await t.assert.rejects(store.commitGathered(put("second")), StoreUnavailable);
  await t.assert.rejects(findSetting(store.db, "word"), StoreUnavailable);
  await t.assert.rejects(findSetting(store.lists("admin"), "word"), StoreUnavailable);
  t.assert.equal(forgotten.count, 2, "caches are dropped after a commit whose result is not known");
  await server.start();
  await until(async () => store.isAvailable, { limitMs: BACK_MS_MAX, what: "the store is back" });
  t.assert.equal(await findSetting(store.db, "word"), "first", "what was committed is there");
  t.assert.equal((await store.commit(put("third"))).result, "ok");
  t.assert.deepEqual(seen, [false, true], "each change is told once");
});

test("a connection that the server ends is replaced, and the database counts as reachable", async (t) => {
  const { store, url, seen } = await openStore();
  t.after(() => store.close());
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  t.after(() => admin.end());
  for (let round = 0; round < 10; round += 1) {
    await admin.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tightbeam'");
    const committed = await store.commit(put(String(round))).catch((error: unknown) => error);
    if (committed instanceof Error) t.assert.equal(committed.constructor, StoreUnavailable);
    t.assert.equal((await store.commit(put(String(round)))).result, "ok");
    t.assert.equal(await findSetting(store.db, "word"), String(round));
  }
  t.assert.deepEqual(seen, []);
});

test("a server that takes no writes any more counts as out of reach", async (t) => {
  const { store, url } = await openStore();
  t.after(() => store.close());
  const { pathname } = new URL(url);
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  t.after(() => admin.end());
  await admin.query(`alter database ${pathname.slice(1)} set default_transaction_read_only = on`);
  await admin.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tightbeam'");
  await until(async () => {
    const error = await store.commit(put("refused")).catch((thrown: unknown) => thrown);
    return error instanceof StoreUnavailable && /read-only/.test(error.message);
  });
  await until(async () => !store.isAvailable, { what: "the probe sees that it is read only" });
  await admin.query(`set default_transaction_read_only = off`);
  await admin.query(`alter database ${pathname.slice(1)} reset default_transaction_read_only`);
  await until(async () => store.isAvailable && (await store.commit(put("accepted"))).result === "ok");
});

test("a connection that ends between two statements of its user ends no process", async (t) => {
  const { url, drop } = await createDatabase(server);
  const pool = createPool(url, 1);
  t.after(async () => {
    await pool.end();
    await drop();
  });
  const client = await pool.connect();
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  const ended = new Promise((resolve) => client.once("end", resolve));
  await admin.query("select pg_terminate_backend($1)", [rows[0]?.pid]);
  await admin.end();
  await ended;
  await t.assert.rejects(client.query("select 1"));
  client.release(true);
  t.assert.equal((await pool.query("select 1")).rowCount, 1);
});
