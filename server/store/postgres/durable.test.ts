/** Tests that PostgreSQL has flushed a commit before the store answers it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import pg from "pg";
import { success } from "../../../test/conformance/store-outcomes.ts";
import { Stage } from "../../../test/conformance/store-stage.ts";
import { postgresForFile } from "../../../test/support/postgres.ts";
import { openPostgres } from "./store.ts";

/** A commit without a flush stays unflushed for ten seconds, unless another connection flushes. */
const postgres = postgresForFile(["fsync=off", "wal_writer_delay=10s"]);

/** Commits of each kind. */
const COMMITS = 20;
/** How many of them have to be flushed when they are answered: another process of the server may write just then. */
const FLUSHED_MIN = 15;

test("the store answers a transaction and the end of a webhook's attempt only when PostgreSQL has flushed its commit", async (t) => {
  const { url, drop } = await postgres.create();
  const stage = new Stage(await openPostgres(url, "member_1"));
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  t.after(async () => {
    await client.end();
    await stage.store.close();
    await drop();
  });
  const isFlushed = async () => {
    const { rows } = await client.query("select pg_current_wal_insert_lsn() <= pg_current_wal_flush_lsn() as flushed");
    return rows[0].flushed === true;
  };
  const customer = await stage.addCustomer();
  const endpoint = await stage.addEndpoint(customer);
  const commits: Record<string, () => Promise<unknown>> = {
    "a new message": () => stage.addMessage(customer),
    "a change of a message with its event": async () => {
      const message = await stage.addMessage(customer);
      const update = { op: "update", table: "messages", id: message.id, version: 1, set: { text: "Hi" } } as const;
      await stage.ok([update, { op: "event", event: stage.event(message), callbackUrl: null }]);
    },
    "a new endpoint": () => stage.addEndpoint(customer, { active: false }),
    "the end of an attempt": async () => {
      const [claimed] = await stage.holdDeliveries(endpoint.id, 1);
      assert.ok(claimed);
      assert.deepEqual(await stage.due.finish([success(claimed)]), [{ result: "ok" }]);
    },
  };
  for (const [kind, commit] of Object.entries(commits)) {
    let flushed = 0;
    for (let count = 0; count < COMMITS; count += 1) {
      await commit();
      if (await isFlushed()) flushed += 1;
    }
    assert.ok(flushed >= FLUSHED_MIN, `${kind}: ${flushed} of ${COMMITS}`);
  }
});
