/** `kill -9` under load: a process that dies at any moment loses nothing that it promised, and does nothing twice. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { median } from "../../bench/report.ts";
import { CarrierLoad } from "../support/carrier-load.ts";
import { emptyDirectory } from "../support/cli.ts";
import { Load, type Order, PaymentLoad, seeded } from "../support/load.ts";
import { checkPromises, NEVER_RECEIVED, RECIPIENTS, RETRY_SCHEDULE, readWhenQuiet, SECRET } from "../support/oracle.ts";
import { KEY, type Running, spawnService, startProcess } from "../support/process.ts";
import { type Found, PAYER } from "../support/quiet.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { checkRepeats } from "../support/repeats.ts";
import { FakeTwilio } from "../support/twilio/fake-twilio.ts";

/** Runs, each with a database of its own, and kills in each. One run is enough: each run of the tests has another seed. */
const RUNS = Number(process.env.TB_CRASH_RUNS ?? 1);
const ROUNDS = Number(process.env.TB_CRASH_ROUNDS ?? 40);
const SEED = Number(process.env.TB_CRASH_SEED ?? Date.now() % 2 ** 31);
/** Of five rounds, one is killed before it is ready. */
const EARLY_EVERY = 5;
/** Of three rounds, one begins with so many messages at once: a kill falls into a queue of webhooks. */
const BURST_EVERY = 3;
const BURST = 40;
/** The goal is 3 s; a machine that does other things as well gets more, and may be late for some starts. */
const READY_MS_MAX = 10_000;

/** How often each operation happened in all runs: one that never did was not tested. */
const happened = new Map<string, number>();

const name = `${ROUNDS} kills at random moments under load lose no message, event or delivery, send nothing twice, and repeat few webhooks`;

for (let run = 0; run < RUNS; run += 1) {
  test(`${name}, run ${run + 1}`, { timeout: 240_000 + ROUNDS * 12_000 }, (t) => killRepeatedly(t, SEED + run));
}

// A run on a slow machine may be without one of them: then its kills come before the operation.
test("each operation happened in some run of kills", () => {
  assert.ok(happened.size > 0, "no run came to its end");
  for (const [operation, times] of happened) assert.ok(times > 0, `I13: ${operation} never happened`);
});

async function killRepeatedly(t: TestContext, seed: number): Promise<void> {
  t.diagnostic(`TB_CRASH_SEED=${seed}`);
  const chance = seeded(seed);
  const dataDir = join(emptyDirectory(t), "data");
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  // Now and then it fails, so that retries too are under way when the process dies.
  receiver.answer = (_, response) => {
    response.statusCode = chance() < 0.03 ? 500 : 200;
    response.end();
  };
  const carrier = await new FakeTwilio().start();
  t.after(() => carrier.stop());
  const env = { TB_WEBHOOK_RETRY_SCHEDULE: RETRY_SCHEDULE, TB_WEBHOOK_ALLOW: "loopback" };
  const callbackUrl = receiver.url.replace("/hook", "/callback");
  const load = new Load({ chance, recipients: RECIPIENTS, callbackUrl, workers: 6, pauseMs: 60 });
  const payments = new PaymentLoad({ chance, to: PAYER, pauseMs: 60 });
  const carried = new CarrierLoad(carrier, () => chance() * 60);
  const logs: string[] = [];
  const readyMs: number[] = [];
  const livesFrom: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await receiver.idle();
    livesFrom.push(Date.now());
    if (round % EARLY_EVERY === EARLY_EVERY - 1) {
      const spawned = spawnService(t, { dataDir, env });
      await afterMs(chance() * 900);
      assert.equal((await spawned.end("SIGKILL")).signal, "SIGKILL");
      continue;
    }
    const service = await startProcess(t, { dataDir, env });
    readyMs.push(service.readyMs);
    if (round === 0) {
      await configure(service, receiver);
      await carried.configure(service);
    }
    load.start(service.url, round % BURST_EVERY === 0 ? BURST : 0);
    payments.start(service.url);
    carried.start(service.url);
    await afterMs(50 + chance() * 1_500);
    const killed = await service.end("SIGKILL");
    assert.deepEqual(killed, { code: null, signal: "SIGKILL" });
    await Promise.all([load.stop(), payments.stop(), carried.stop()]);
    logs.push(service.output.stdout, service.output.stderr);
  }
  await receiver.idle();
  livesFrom.push(Date.now());
  const service = await startProcess(t, { dataDir, env });
  readyMs.push(service.readyMs);
  assert.ok(median(readyMs) < READY_MS_MAX, `ready after ${readyMs} ms`);
  await load.settle(service.url);
  await payments.settle(service.url);
  const found = await readWhenQuiet(service, load.orders, payments.orders);
  report(t, load, found, Math.max(...readyMs));

  const { received } = receiver;
  checkPromises(found, { orders: load.orders, payments: payments.orders, received });
  const repeats = checkRepeats(received, livesFrom);
  t.diagnostic(`${received.length} webhooks, ${repeats.all} repeated; by kill, at one endpoint: ${repeats.perKill}`);
  t.diagnostic(`${await carried.check(service)} messages went to the carrier, each once`);
  assert.deepEqual(await service.end("SIGTERM"), { code: 0, signal: null });
  logs.push(service.output.stdout, service.output.stderr);
  for (const text of ["Grüße", KEY, SECRET, PAYER, ...RECIPIENTS]) {
    assert.ok(!logs.some((log) => log.includes(text)), `the log contains ${text}`);
  }
}

async function configure(service: Running, receiver: Receiver): Promise<void> {
  const set = await service.ask("PUT", "/v1/webhooks", { url: receiver.url, events: ["*"], secret: SECRET });
  assert.equal(set.status, 200);
}

/** The moment of a kill, which is random. */
function afterMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** The figures of a run, which are added to those of all runs. */
function report(t: TestContext, { orders, unanswered }: Load, found: Found, readyMsMax: number): void {
  const count = (is: (order: Order) => boolean) => orders.filter(is).length;
  const resent = [...found.messages.values()].filter(({ timeline }) =>
    timeline.some(({ reason }) => reason?.startsWith(NEVER_RECEIVED)),
  );
  const counts = {
    messages: found.messages.size,
    inbound: found.inbound.length,
    payments: found.payments.length,
    events: found.events.size,
    unansweredMessages: unanswered.messages,
    scheduled: count(({ scheduledAt }) => scheduledAt !== null),
    cancelled: count(({ cancelling }) => cancelling === "cancelled"),
  };
  const rare = {
    acceptedUnheard: count(({ id, created }) => id !== null && !created),
    attemptsCutAndSentAgain: resent.length,
    unansweredCancels: unanswered.cancels,
    refusedAsPast: count(({ refused }) => refused),
  };
  t.diagnostic(JSON.stringify({ rounds: ROUNDS, readyMsMax, ...counts, ...rare }));
  for (const [operation, times] of Object.entries(counts))
    happened.set(operation, (happened.get(operation) ?? 0) + times);
}
