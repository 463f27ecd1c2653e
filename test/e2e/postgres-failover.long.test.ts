/** The primary of PostgreSQL dies under load, and its synchronous standby is promoted: nothing acknowledged is lost or done twice. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import pg from "pg";
import { emptyDirectory } from "../support/cli.ts";
import { Load, seeded } from "../support/load.ts";
import { checkPromises, RECIPIENTS, RETRY_SCHEDULE, readWhenQuiet, SECRET } from "../support/oracle.ts";
import { createDatabase, type EmbeddedServer, startEmbedded } from "../support/postgres.ts";
import { startProcess } from "../support/process.ts";
import { startReceiver } from "../support/receiver.ts";
import { type Relay, startRelay } from "../support/tcp-relay.ts";
import { until } from "../support/wait.ts";

const SEED = Number(process.env.TB_CRASH_SEED ?? Date.now() % 2 ** 31);
const LOAD_MS = 3_000;
/** The service looks for its database four times a second; the rest is for a busy machine. */
const BACK_MS_MAX = 15_000;

const afterMs = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Runs one statement on the server's own database. */
async function ask(server: EmbeddedServer, statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: server.urlOf("postgres") });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

/** Starts a standby of a server, and makes the server's commits wait for it. */
async function startStandby(t: TestContext, primary: EmbeddedServer): Promise<EmbeddedServer> {
  await primary.kill();
  const { hostname, port, username } = new URL(primary.urlOf("postgres"));
  const standby = await startEmbedded(
    [`primary_conninfo=host=${hostname} port=${port} user=${username} application_name=standby`],
    (data) => {
      assert.equal(spawnSync("cp", ["-a", primary.data, data]).status, 0);
      writeFileSync(join(data, "standby.signal"), "");
      spawnSync("rm", ["-f", join(data, "postmaster.pid")]);
    },
    () => primary.start(),
  );
  t.after(() => standby.stop());
  await ask(primary, "alter system set synchronous_standby_names = 'standby'");
  await ask(primary, "select pg_reload_conf()");
  await until(async () => (await ask(primary, "select sync_state from pg_stat_replication"))[0]?.sync_state === "sync");
  return standby;
}

const portOf = (server: EmbeddedServer) => Number(new URL(server.urlOf("postgres")).port);

/** The URL of a database through the relay, which stands for the address that moves with the primary. */
function through(relay: Relay, url: string): string {
  const changed = new URL(url);
  changed.port = String(relay.port);
  return changed.href;
}

test("a promoted standby has everything that was acknowledged, and nothing is done twice", {
  timeout: 300_000,
}, async (t) => {
  t.diagnostic(`TB_CRASH_SEED=${SEED}`);
  const primary = await startEmbedded();
  t.after(() => primary.stop());
  const { url } = await createDatabase(primary);
  const standby = await startStandby(t, primary);
  const relay = await startRelay(portOf(primary));
  t.after(() => relay.stop());
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  const service = await startProcess(t, {
    dataDir: join(emptyDirectory(t), "data"),
    env: {
      DATABASE_URL: through(relay, url),
      TB_WEBHOOK_RETRY_SCHEDULE: RETRY_SCHEDULE,
      TB_WEBHOOK_ALLOW: "loopback",
    },
  });
  await service.ask("PUT", "/v1/webhooks", { url: receiver.url, events: ["*"], secret: SECRET });
  const callbackUrl = receiver.url.replace("/hook", "/callback");
  const chance = seeded(SEED);
  const load = new Load({
    chance,
    recipients: RECIPIENTS,
    callbackUrl,
    workers: 6,
    pauseMs: 60,
    repeatUnavailable: true,
  });
  t.after(() => load.stop());
  load.start(service.url);
  await afterMs(LOAD_MS);

  await primary.kill();
  const isReady = async () => (await fetch(`${service.url}/readyz`)).status === 200;
  await until(async () => !(await isReady()), { what: "/readyz to say so" });
  // The address moves before the promotion: meanwhile the standby answers and takes no writes.
  relay.target = portOf(standby);
  await afterMs(1_000);
  assert.equal(await isReady(), false, "a standby is no database to work with");
  await ask(standby, "select pg_promote()");
  const promotedAt = performance.now();
  await until(isReady, { what: "/readyz" });
  const backMs = Math.round(performance.now() - promotedAt);
  t.diagnostic(`back ${backMs} ms after the promotion`);
  assert.ok(backMs < BACK_MS_MAX);

  await afterMs(LOAD_MS);
  await load.stop();
  await load.settle(service.url);
  const found = await readWhenQuiet(service, load.orders, []);
  t.diagnostic(`${found.messages.size} messages, ${found.events.size} events`);
  checkPromises(found, { orders: load.orders, payments: [], received: receiver.received });
});
