/** `kill -9` of the only process on PostgreSQL: its next start on the same data directory goes on at once, and none starts beside a suspended one. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { CarrierLoad } from "../support/carrier-load.ts";
import { emptyDirectory } from "../support/cli.ts";
import { createDatabase, startPostgres } from "../support/postgres.ts";
import { type Running, StartFailed, startProcess } from "../support/process.ts";
import { startReceiver } from "../support/receiver.ts";
import { FakeTwilio } from "../support/twilio/fake-twilio.ts";
import { until } from "../support/wait.ts";

const RECIPIENT = "+15005550100";
/** Without the former member's name, a lane of webhooks waits 20 s, and an instance 35 s. */
const FLOW_MS_MAX = 15_000;
const KILLS = 3;
/** The start of a machine is known on Linux only. */
const skip = existsSync("/proc/sys/kernel/random/boot_id") ? false : "it needs the boot id of Linux";

async function stageOf(t: TestContext) {
  const server = await startPostgres();
  t.after(() => server.stop());
  const { url } = await createDatabase(server);
  const dataDir = join(emptyDirectory(t), "data");
  const env = { DATABASE_URL: url, TB_WEBHOOK_ALLOW: "loopback" };
  return { start: () => startProcess(t, { dataDir, env }) };
}

test("after kill -9 the next start sends and posts webhooks within seconds, and nothing is sent twice", {
  skip,
  timeout: 240_000,
}, async (t) => {
  const { start } = await stageOf(t);
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  const carrier = await new FakeTwilio().start();
  t.after(() => carrier.stop());
  const load = new CarrierLoad(carrier, () => 30, { repeatUnavailable: true });
  t.after(() => load.stop());
  let service: Running = await start();
  await service.ask("PUT", "/v1/webhooks", { url: receiver.url, events: ["*"] });
  await load.configure(service);
  const flow = async (limitMs: number) => {
    const before = carrier.messages.length;
    await until(() => carrier.messages.length >= before + 5, { limitMs, what: "messages at the carrier" });
  };
  const answer = receiver.answer;
  for (let kill = 0; kill < KILLS; kill += 1) {
    load.start(service.url);
    await flow(60_000);
    // Webhooks are in flight when the process dies.
    receiver.answer = () => {};
    const before = receiver.received.length;
    const { data } = await service.ask("POST", "/v1/messages", { to: RECIPIENT, content: { text: "Hello" } });
    await until(() => receiver.received.length > before, { what: "a webhook in flight" });
    await service.end("SIGKILL");
    await load.stop();
    receiver.answer = answer;
    receiver.received.length = 0;
    service = await start();
    const startedAt = performance.now();
    load.start(service.url);
    const types = () => new Set(receiver.types(data.id as string));
    const arrived = until(() => types().has("message.queued") && types().has("message.delivered"), {
      limitMs: FLOW_MS_MAX,
      what: "the webhooks of the former process",
    });
    await Promise.all([arrived, flow(FLOW_MS_MAX)]);
    t.diagnostic(`all flows ${Math.round(performance.now() - startedAt)} ms after the start`);
    await load.stop();
  }
  t.diagnostic(`${await load.check(service)} messages, each once`);
  assert.equal((await service.end("SIGTERM")).code, 0);
});

test("no process starts on the data directory of a suspended one, which goes on", async (t) => {
  const { start } = await stageOf(t);
  const service = await start();
  process.kill(service.pid, "SIGSTOP");
  await assert.rejects(start(), (error: unknown) => {
    assert.ok(error instanceof StartFailed);
    assert.equal(error.exit.code, 1);
    assert.match(error.spawned.output.stderr, /^error: .*lock\.db is locked: another Tightbeam runs on this data dir/m);
    return true;
  });
  process.kill(service.pid, "SIGCONT");
  assert.equal((await service.ask("GET", "/v1/messages")).status, 200);
  assert.equal((await service.end("SIGTERM")).code, 0);
  const next = await start();
  assert.equal((await next.end("SIGTERM")).code, 0);
});
