/** A database that the tools of PostgreSQL have restored is marked: what may have been sent is held, and no reader of events misses any. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { NOW, Stage } from "../../test/conformance/store-stage.ts";
import { emptyDirectory } from "../../test/support/cli.ts";
import { oneLine } from "../../test/support/one-line.ts";
import { sharedPostgresForFile } from "../../test/support/postgres.ts";
import { readConfig } from "../config.ts";
import { RESTORED_BACKUP } from "../engine/messages/held.ts";
import { CLOCK_SHIFT } from "../engine/sandbox/clock.ts";
import { newestPosition } from "../store/events.ts";
import { openPostgres } from "../store/postgres/store.ts";
import { findSetting } from "../store/settings.ts";
import { markRestored } from "./mark-restored.ts";

const postgres = sharedPostgresForFile();

test("later events are far behind those of the backup, and the next start knows what it has to hold", async (t) => {
  const { url, drop } = await postgres.create();
  t.after(drop);
  const stage = new Stage(await openPostgres(url, "member_1"));
  t.after(() => stage.store.close());
  const newest = async () => (await newestPosition(stage.store.db, customer.id)) ?? 0;
  const customer = await stage.addCustomer();
  await stage.addEvent(customer);
  const last = await newest();
  await stage.addMessage(customer, { dueAt: NOW });
  const config = readConfig({ TB_DATA_DIR: emptyDirectory(t), DATABASE_URL: url });
  const now = Date.now();
  await assert.rejects(markRestored(config, now - 1, now), oneLine("The service is connected"));
  await stage.store.close();
  await assert.rejects(markRestored(config, now + 1, now), oneLine("--taken-at is not a time in the past"));
  const work = await markRestored(config, now - 1, now);
  assert.deepEqual(work, { held: 1, scheduled: 0, withoutFallback: 0, deliveries: 0 });
  stage.store = await openPostgres(url, "member_2");
  await stage.addEvent(customer);
  assert.ok((await newest()) - last > 2 ** 30, "further than positions can have gone since");
  const setting = JSON.parse((await findSetting(stage.store.db, RESTORED_BACKUP)) ?? "null");
  assert.deepEqual(setting, { takenAt: now - 1, restoredAt: now, heldAt: null });
});

test("work is counted by the stored shift of the clock, and by the real time if no clock can have that shift", async (t) => {
  const { url, drop } = await postgres.create();
  t.after(drop);
  const stage = new Stage(await openPostgres(url, "member_1"));
  const [day, now] = [86_400_000, Date.now()];
  await stage.addMessage(await stage.addCustomer(), { status: "scheduled", scheduledAt: now + day, dueAt: now + day });
  const config = readConfig({ TB_DATA_DIR: emptyDirectory(t), DATABASE_URL: url });
  for (const [shift, held] of [
    ["1e15", 0],
    [String(2 * day), 1],
  ] as const) {
    await stage.ok([{ op: "put", table: "settings", record: { name: CLOCK_SHIFT, value: shift } }]);
    await stage.store.close();
    const work = await markRestored(config, now - 1, now);
    assert.deepEqual(work, { held, scheduled: 1 - held, withoutFallback: 0, deliveries: 0 }, shift);
    stage.store = await openPostgres(url, "member_2");
  }
  await stage.store.close();
});
