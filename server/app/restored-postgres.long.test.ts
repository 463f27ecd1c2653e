/** A restore of PostgreSQL from its backup: nothing is sent twice, and nothing that the backup had is lost. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { emptyDirectory } from "../../test/support/cli.ts";
import { postgresForFile } from "../../test/support/postgres.ts";
import { contact, startTwilioService } from "../../test/support/twilio/texting.ts";
import { until } from "../../test/support/wait.ts";
import { readConfig } from "../config.ts";
import { takeBackup } from "./backup.ts";
import { restoreBackup } from "./restore.ts";

const postgres = postgresForFile(["fsync=off"]);
const quiet = () => {};

test("backed up while sending, a thousand sent since, restored: the provider gets none twice, and none of the backup is lost", {
  timeout: 400_000,
}, async (t) => {
  const [{ url, drop }, other] = [await postgres.create(), await postgres.create()];
  t.after(() => Promise.all([drop(), other.drop()]));
  const shared = { url, sql: async () => [] };
  const { fake, service, send, get } = await startTwilioService(t, { shared });
  for (let index = 0; index < 20; index += 1) fake.behaviours.set(contact(index), { slowMs: 30, callbacks: false });
  const first = Array.from({ length: 150 }, (_, index) => send(contact(index % 20), `before ${index}`));
  await until(() => fake.messages.length > 20);
  const backup = join(emptyDirectory(t), "backup");
  const taken = readConfig({ TB_DATA_DIR: service.dataDir, DATABASE_URL: url });
  const { manifest } = await takeBackup(taken, backup, {
    version: "test",
    now: Date.now(),
    withKey: true,
    progress: quiet,
  });
  const ids = await Promise.all(first);
  for (let batch = 0; batch < 10; batch += 1) {
    await Promise.all(Array.from({ length: 100 }, (_, index) => send(contact(index), `since ${batch} ${index}`)));
  }
  await until(() => fake.messages.length === 1_150, { limitMs: 120_000, what: "1,150 messages at Twilio" });
  let held = 0;
  await service.restart(async () => {
    const config = readConfig({ TB_DATA_DIR: emptyDirectory(t), DATABASE_URL: other.url });
    const { work } = await restoreBackup(config, backup, { now: Date.now(), moveAside: false, progress: quiet });
    held = work.held;
    return { DATABASE_URL: other.url };
  });
  assert.ok(held > 0, `${held} of ${manifest.counts.messages} held`);
  const stored = (await Promise.all(ids.map(get))).filter((record) => record?.id !== undefined);
  assert.equal(stored.length, manifest.counts.messages, "all messages of the backup are there");
  await until(
    async () => {
      const now = await Promise.all(stored.map(({ id }) => get(id)));
      return now.every(({ status }) => status === "sent" || status === "delivered");
    },
    { limitMs: 180_000, what: "Twilio's word about each held message" },
  );
  const bodies = fake.messages.map(({ body }) => body);
  assert.equal(new Set(bodies).size, bodies.length, "no text was sent twice");
  assert.equal(bodies.length, 1_150);
});
