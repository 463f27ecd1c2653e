/** The store and the service on PostgreSQL through PgBouncer in transaction mode. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { openPostgres } from "../../server/store/postgres/store.ts";
import { storeConformance } from "../conformance/store.ts";
import { type PgBouncer, startPgBouncer, WITHOUT_PGBOUNCER } from "../support/pgbouncer.ts";
import { createDatabase } from "../support/postgres.ts";
import { startReceiver } from "../support/receiver.ts";
import { startTestService } from "../support/service.ts";
import { type PreparedPostgres, preparePostgres } from "../support/service-database.ts";
import { until } from "../support/wait.ts";

let postgres: PreparedPostgres;
let bouncer: PgBouncer;
/** Stores that were opened: each is a member of its own. */
let opened = 0;

if (WITHOUT_PGBOUNCER === false) {
  before(async () => {
    postgres = await preparePostgres();
    bouncer = await startPgBouncer(postgres.server);
  });
  after(async () => {
    await bouncer.stop();
    await postgres.server.stop();
  });
  storeConformance("PostgreSQL through PgBouncer", async () => {
    const { url, drop } = await postgres.create();
    const open = () => {
      opened += 1;
      return openPostgres(bouncer.through(url), `member_${opened}`);
    };
    return { store: await open(), reopen: open, remove: drop };
  });
}

test("a service behind PgBouncer sends messages, and its webhooks arrive once", {
  skip: WITHOUT_PGBOUNCER,
}, async (t) => {
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  const api = await startTestService({}, { postgres: { ...postgres, through: (url) => bouncer.through(url) } });
  t.after(() => api.stop());
  await api.ask("PUT", "/v1/webhooks", { body: { url: receiver.url, events: ["*"] } });
  const ids = new Set<string>();
  for (let index = 0; index < 50; index += 1) {
    const body = { to: "+15005550100", content: { text: `${index}` } };
    ids.add((await api.ask("POST", "/v1/messages", { body })).data.id);
  }
  assert.equal(ids.size, 50);
  const delivered = () => receiver.types().filter((type) => type === "message.delivered").length;
  await until(() => delivered() >= 50, { limitMs: 60_000, what: "50 deliveries" });
  const events = receiver.received.map(({ event }) => event.id);
  assert.deepEqual(events, [...new Set(events)]);
});

test("a store behind PgBouncer that another one uses opens ten times, waits for no lock, and leaves none", {
  skip: WITHOUT_PGBOUNCER,
  timeout: 60_000,
}, async () => {
  // An empty database: the first two starts migrate it, at the same time.
  const { url, drop } = await createDatabase(postgres.server);
  const waits: string[] = [];
  const open = async () => {
    opened += 1;
    return await openPostgres(bouncer.through(url), `member_${opened}`, { waiting: (wait) => waits.push(wait) });
  };
  try {
    const [first, second] = await Promise.all([open(), open()]);
    await second.close();
    waits.length = 0;
    for (let start = 0; start < 10; start += 1) await (await open()).close();
    await first.close();
    assert.deepEqual(waits, []);
    const direct = new pg.Client({ connectionString: url });
    await direct.connect();
    const { rows } = await direct.query("select count(*)::int as kept from pg_locks where locktype = 'advisory'");
    await direct.end();
    assert.deepEqual(rows, [{ kept: 0 }], "PgBouncer's connections have kept locks");
  } finally {
    await drop();
  }
});
