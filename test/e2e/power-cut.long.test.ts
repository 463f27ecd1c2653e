/** Power cuts under load: a disk that loses everything without an fsync loses no message that got a 202. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type DiskImage, diskImage } from "../support/disk-image.ts";
import { Load, PaymentLoad, seeded } from "../support/load.ts";
import { checkPromises, RECIPIENTS, RETRY_SCHEDULE, readWhenQuiet, SECRET } from "../support/oracle.ts";
import { type Running, startProcess } from "../support/process.ts";
import { PAYER } from "../support/quiet.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { checkRepeats } from "../support/repeats.ts";
import { until } from "../support/wait.ts";

const CUTS = Number(process.env.TB_POWER_CUTS ?? 25);
const SEED = Number(process.env.TB_POWER_SEED ?? Date.now() % 2 ** 31);
const BURST = 40;

/** Loaded into the service: the database's connections sync no commit, and say that they do. */
const WITHOUT_SYNC = `
  import { DatabaseSync } from "node:sqlite";
  const { prepare } = DatabaseSync.prototype;
  DatabaseSync.prototype.prepare = function (sql, ...more) {
    if (sql !== "pragma synchronous") return prepare.call(this, sql, ...more);
    this.exec("pragma synchronous = normal");
    return { get: () => ({ synchronous: 2 }) };
  };`;

test(`${CUTS} power cuts under load lose nothing that was answered with 202`, {
  timeout: 240_000 + CUTS * 15_000,
}, async (t) => {
  const made = await stage(t);
  if (made === null) return;
  const { disk, receiver, load, payments, start, chance } = made;
  const livesFrom: number[] = [];
  for (let round = 0; round < CUTS; round += 1) {
    await receiver.idle();
    livesFrom.push(Date.now());
    const service = await start();
    if (round === 0) await configure(service, receiver);
    await checkKept(service, load);
    load.start(service.url, round % 2 === 0 ? BURST : 0);
    payments.start(service.url);
    await new Promise((resolve) => setTimeout(resolve, 50 + chance() * 1_000));
    await cutPower(service, disk);
    await Promise.all([load.stop(), payments.stop()]);
    await disk.remount();
  }
  await receiver.idle();
  livesFrom.push(Date.now());
  const service = await start();
  await checkKept(service, load);
  await load.settle(service.url);
  await payments.settle(service.url);
  const found = await readWhenQuiet(service, load.orders, payments.orders);
  const { received } = receiver;
  checkPromises(found, { orders: load.orders, payments: payments.orders, received });
  const { perKill } = checkRepeats(received, livesFrom);
  const counts = { messages: found.messages.size, events: found.events.size, webhooks: received.length };
  t.diagnostic(JSON.stringify({ ...counts, repeatsByCut: perKill.join(" ") }));
  assert.ok(counts.messages > CUTS && load.unanswered.messages > 0, JSON.stringify(counts));
  assert.deepEqual(await service.end("SIGTERM"), { code: 0, signal: null });
});

test("the same cut does lose messages answered with 202 if commits are not synced", { timeout: 120_000 }, async (t) => {
  const made = await stage(t);
  if (made === null) return;
  const { disk, load, start } = made;
  const url = `data:text/javascript,${encodeURIComponent(WITHOUT_SYNC)}`;
  const service = await start({ NODE_OPTIONS: `--import=${url}` });
  load.start(service.url);
  await until(() => acknowledged(load).length >= 20, { what: "messages to be accepted" });
  await cutPower(service, disk);
  await load.stop();
  await disk.remount();
  const lost = await lostBy(await start(), acknowledged(load));
  t.diagnostic(`${lost.length} of ${acknowledged(load).length} acknowledged messages are lost`);
  assert.ok(lost.length > 0, "a disk that keeps what nobody synced proves nothing");
});

interface Stage {
  chance: () => number;
  disk: DiskImage;
  receiver: Receiver;
  load: Load;
  payments: PaymentLoad;
  start(env?: Record<string, string>): Promise<Running>;
}

/** A disk, a receiver, and loads that were not started. Null if the machine permits no such disk: then the test is skipped. */
async function stage(t: TestContext): Promise<Stage | null> {
  t.diagnostic(`TB_POWER_SEED=${SEED}`);
  const chance = seeded(SEED);
  const disk = await diskImage(t);
  if (typeof disk === "string") {
    t.skip(disk);
    return null;
  }
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  const callbackUrl = receiver.url.replace("/hook", "/callback");
  const load = new Load({ chance, recipients: RECIPIENTS, callbackUrl, workers: 6, pauseMs: 60 });
  const payments = new PaymentLoad({ chance, to: PAYER, pauseMs: 60 });
  const start = (env: Record<string, string> = {}) =>
    startProcess(t, {
      dataDir: `${disk.directory}/data`,
      behind: disk.behind,
      env: { TB_WEBHOOK_RETRY_SCHEDULE: RETRY_SCHEDULE, ...env },
    });
  return { chance, disk, receiver, load, payments, start };
}

async function configure(service: Running, receiver: Receiver): Promise<void> {
  const set = await service.ask("PUT", "/v1/webhooks", { url: receiver.url, events: ["*"], secret: SECRET });
  assert.equal(set.status, 200);
}

/** Stops the process at once, as a machine without power does, so that it does not see the errors of its disk. */
async function cutPower(service: Running, disk: DiskImage): Promise<void> {
  process.kill(service.pid, "SIGSTOP");
  disk.cut();
  assert.equal((await service.end("SIGKILL")).signal, "SIGKILL");
}

/** Identifiers of the messages that were answered with 202 or, to a repeated request, with 200. */
function acknowledged({ orders }: Load): string[] {
  return orders.flatMap(({ id }) => (id === null ? [] : [id]));
}

/** The messages that the service does not have. */
async function lostBy(service: Running, ids: readonly string[]): Promise<string[]> {
  const answers = await Promise.all(ids.map((id) => service.ask("GET", `/v1/messages/${id}`)));
  return ids.filter((_, index) => answers[index]?.status === 404);
}

async function checkKept(service: Running, load: Load): Promise<void> {
  assert.deepEqual(await lostBy(service, acknowledged(load)), []);
}
