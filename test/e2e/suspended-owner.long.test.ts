/** The process that runs a carrier's instance is suspended for 90 s: another one takes over, and nothing is sent twice. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { CarrierLoad } from "../support/carrier-load.ts";
import { createDatabase, startPostgres } from "../support/postgres.ts";
import { type Running, startProcess } from "../support/process.ts";
import { FakeTwilio } from "../support/twilio/fake-twilio.ts";
import { until } from "../support/wait.ts";

const TIMEOUT_MS = 600_000;
const SUSPENDED_MS = 90_000;
const TAKEOVER_MS_MAX = 60_000;
/** Messages at the carrier that show that an owner sends. */
const PROGRESS = 20;
const PROGRESS_MS_MAX = 150_000;

/** The address of the process that holds the lease of the carrier's account: its epoch has grown with each owner. */
const OWNER = `select m.url, l.epoch from member_leases l join members m on m.id = l.owner
  where l.until > clock_timestamp() and l.state like '%' || (select id from instances where provider = 'twilio') || '%'`;

test("after its owner was suspended for 90 s an instance has another owner within 60 s, and no message is sent twice", {
  timeout: TIMEOUT_MS,
}, async (t) => {
  const server = await startPostgres();
  t.after(() => server.stop());
  const { url: databaseUrl } = await createDatabase(server);
  const database = new pg.Client({ connectionString: databaseUrl });
  // The server ends it when the test is over.
  database.on("error", () => {});
  await database.connect();
  t.after(() => database.end());
  const directory = mkdtempSync(join(tmpdir(), "tightbeam-suspended-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const carrier = await new FakeTwilio().start();
  t.after(() => carrier.stop());
  const env = { DATABASE_URL: databaseUrl, TB_SECRET_KEY: Buffer.alloc(32, 5).toString("base64") };
  const start = (name: string) => startProcess(t, { dataDir: join(directory, name), env });
  const processes = [await start("a"), await start("b")];
  const owner = async () => {
    const { rows } = await database.query<{ url: string; epoch: string }>(OWNER);
    return rows[0] === undefined ? null : { url: rows[0].url, epoch: Number(rows[0].epoch) };
  };
  const load = new CarrierLoad(carrier, () => 100, { repeatUnavailable: true });
  await load.configure(processes[0] as Running);
  await until(async () => (await owner()) !== null, { limitMs: PROGRESS_MS_MAX, what: "an owner" });
  const first = await owner();
  const [suspended] = processes.filter(({ url }) => url === first?.url);
  const [other] = processes.filter(({ url }) => url !== first?.url);
  assert.ok(suspended !== undefined && other !== undefined && first !== null);
  t.after(() => load.stop());
  // A request that the suspended process holds would have no response.
  load.start(other.url);
  const progress = async () => {
    const before = carrier.messages.length;
    await until(() => carrier.messages.length >= before + PROGRESS, { limitMs: PROGRESS_MS_MAX, what: "messages" });
  };
  await progress();

  process.kill(suspended.pid, "SIGSTOP");
  const suspendedAt = performance.now();
  await until(async () => ((await owner())?.epoch ?? 0) > first.epoch, {
    limitMs: TAKEOVER_MS_MAX,
    what: "another owner",
  });
  t.diagnostic(`another owner after ${Math.round((performance.now() - suspendedAt) / 1_000)} s`);
  assert.notEqual((await owner())?.url, first.url);
  await progress();
  await setTimeout(Math.max(0, SUSPENDED_MS - (performance.now() - suspendedAt)));
  process.kill(suspended.pid, "SIGCONT");
  await progress();
  await load.stop();
  const sent = await load.check(other);
  t.diagnostic(`${sent} messages`);
  for (const one of processes) {
    assert.equal((await one.end("SIGTERM")).code, 0, one.output.stderr);
    t.diagnostic(
      one.output.stdout
        .split("\n")
        .filter((line) => line.includes('"fault"'))
        .join("\n"),
    );
  }
});
