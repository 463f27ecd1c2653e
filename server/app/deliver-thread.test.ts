/** The deliver thread: what is answered to a caller holds for every webhook that is sent afterwards, and its end is noticed. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { Delivery } from "../../sdk/wire.ts";
import { emptyDirectory } from "../../test/support/cli.ts";
import { type Receiver, startReceiver } from "../../test/support/receiver.ts";
import { startTestService, type TestService } from "../../test/support/service.ts";
import { until } from "../../test/support/wait.ts";
import { parseAllowList } from "../core/address.ts";
import type { DeliveryId } from "../core/id.ts";
import { openSqlite } from "../store/sqlite/store.ts";
import { type DeliverReport, DeliverState } from "./deliver-messages.ts";
import { DeliverReporter } from "./deliver-report.ts";
import { DeliverThread, type DeliverThreadParts } from "./deliver-thread.ts";

async function open(t: TestContext, receivers = 1): Promise<{ service: TestService; receivers: Receiver[] }> {
  const service = await startTestService({}, { inThreads: true });
  const made = await Promise.all(Array.from({ length: receivers }, () => startReceiver()));
  t.after(async () => {
    await service.stop();
    for (const receiver of made) await receiver.stop();
  });
  return { service, receivers: made };
}

const send = (service: TestService, text = "Hello") =>
  service.ask("POST", "/v1/messages", { body: { to: "+15005550100", content: { text } } });

const subscribe = (service: TestService, url: string, more: object = {}) =>
  service.ask("PUT", "/v1/webhooks", { body: { url, events: ["*"], ...more } });

test("after a change of the endpoint is answered, no webhook begins with the former URL, and none after a pause", async (t) => {
  const { service, receivers } = await open(t, 2);
  const list = async () =>
    (await service.ask("GET", "/v1/webhooks/deliveries?limit=100")).data.deliveries as Delivery[];
  const isOver = async () => (await list()).every(({ status }) => status === "succeeded");
  for (let round = 0; round < 10; round += 1) {
    const [now, former] = round % 2 === 0 ? receivers : [...receivers].reverse();
    assert.ok(now && former);
    const before = former.received.length;
    const sent = Array.from({ length: 8 }, () => send(service));
    const { status, data } = await subscribe(service, now.url);
    const changedAt = Date.now();
    assert.ok(status < 300);
    assert.equal(data.url, now.url);
    const after = await send(service);
    await Promise.all(sent);
    await until(() => now.types(after.data.id).includes("message.delivered"));
    await until(isOver);
    const begunAt = new Map((await list()).map(({ eventId, attempts }) => [eventId, attempts[0]?.at ?? ""]));
    for (const { event } of former.received.slice(before)) {
      const at = begunAt.get(event.id) ?? assert.fail("it has no delivery");
      assert.ok(Date.parse(at) <= changedAt, `${Date.parse(at) - changedAt} ms after the answer`);
    }
  }
  const { data } = await service.ask("GET", "/v1/webhooks");
  const paused = await service.ask("PATCH", `/v1/webhooks/${data.id}`, { body: { active: false } });
  assert.equal(paused.data.active, false);
  const counts = receivers.map(({ received }) => received.length);
  await send(service);
  await delay(100);
  assert.deepEqual(
    receivers.map(({ received }) => received.length),
    counts,
  );
});

test("after a reset of the sandbox is answered, none of its webhooks begins", async (t) => {
  const { service, receivers } = await open(t);
  const [receiver] = receivers;
  assert.ok(receiver);
  // Each attempt takes a while, so that others wait for a permit.
  receiver.answer = (_, response) => void setTimeout(() => response.end("ok"), 20);
  await subscribe(service, receiver.url, { maxInFlight: 1 });
  await Promise.all(Array.from({ length: 20 }, () => send(service)));
  await until(() => receiver.received.length > 2);
  const { status } = await service.ask("POST", "/v1/sandbox/reset", { body: {} });
  assert.equal(status, 200);
  const before = receiver.received.length;
  await delay(180);
  // One may have been in flight.
  assert.ok(receiver.received.length <= before + 1, `${receiver.received.length - before} came later`);
});

test("the thread follows the sandbox's clock: a retry is made as soon as the clock has been advanced", async (t) => {
  const { service, receivers } = await open(t);
  const [receiver] = receivers;
  assert.ok(receiver);
  receiver.answer = ({ event }, response) => {
    response.statusCode = receiver.received.filter((one) => one.event.id === event.id).length > 1 ? 200 : 500;
    response.end("no");
  };
  await subscribe(service, receiver.url);
  await send(service);
  await until(() => receiver.received.length === 3);
  const deliveries = async () => (await service.ask("GET", "/v1/webhooks/deliveries")).data.deliveries;
  await until(async () => (await deliveries()).every(({ attempts }: { attempts: unknown[] }) => attempts.length === 1));
  await service.ask("POST", "/v1/sandbox/clock", { body: { advance: "1m" } });
  await until(async () => (await deliveries()).every(({ status }: { status: string }) => status === "succeeded"));
});

test("a request that waits for an attempt gets it, and metrics count what the thread did", async (t) => {
  const { service, receivers } = await open(t);
  const [receiver] = receivers;
  assert.ok(receiver);
  await subscribe(service, receiver.url);
  const tested = await service.ask("POST", "/v1/webhooks/test", { body: {} });
  assert.deepEqual([tested.status, tested.data.delivered, tested.data.responseStatus], [200, true, 200]);
  await until(async () => {
    const metrics = await fetch(`${service.url}/metrics`, { headers: { Authorization: `Bearer ${service.adminKey}` } });
    return /^tightbeam_delivery_attempts_total\{[^}]*succeeded[^}]*\} 1$/m.test(await metrics.text());
  });
});

test("once an instance that reaches people is stored, no webhook reaches loopback", async (t) => {
  const { service, receivers } = await open(t);
  const [receiver] = receivers;
  assert.ok(receiver);
  await subscribe(service, receiver.url);
  const config = { host: "127.0.0.1", port: 9, systemId: "tightbeam", password: "secret", bindMode: "transceiver" };
  const body = { name: "Carrier", provider: "smpp", config };
  const create = () => service.ask("POST", "/v1/admin/instances", { key: service.adminKey, body });
  const credentials = join(service.dataDir, "credentials.json");
  const kept = readFileSync(credentials);
  writeFileSync(credentials, "not JSON");
  assert.equal((await create()).status, 500, "the keys cannot be removed");
  writeFileSync(credentials, kept);
  assert.equal((await create()).status, 201);
  assert.ok(!/apiKey|adminKey/.test(readFileSync(credentials, "utf8")));
  const tested = await service.ask("POST", "/v1/webhooks/test", { body: {} });
  assert.equal(tested.data.attempts[0].error, "ADDRESS_REFUSED");
  assert.equal(receiver.received.length, 0);
});

test("a thread that ends by itself is lost, once, and what waits for it fails", async (t) => {
  const store = await openSqlite(emptyDirectory(t), assert.fail);
  t.after(() => store.close());
  const ports = store.openPorts();
  assert.ok(ports !== null);
  const lost: string[] = [];
  const parts: DeliverThreadParts = {
    ports,
    // The thread cannot use a memory of this size.
    state: { shared: new SharedArrayBuffer(7) } as DeliverState,
    secretKey: Buffer.alloc(32),
    settings: { webhookConcurrency: 1, webhookRetryScheduleMs: [] },
    loop: { allow: parseAllowList("loopback"), userAgent: "test", ownUrl: "http://127.0.0.1" },
    attempted: { notify: assert.fail },
    goneMarks: { report: () => assert.fail() },
    observer: {} as DeliverThreadParts["observer"],
    committed: () => {},
    lost: (reason) => lost.push(reason),
  };
  const thread = new DeliverThread(parts);
  await assert.rejects(thread.stop(), /BigInt64Array/);
  await thread.close();
  assert.equal(lost.length, 1);
});

test("the observations of one time are reported together", async () => {
  const reports: DeliverReport[] = [];
  const reporter = new DeliverReporter((report) => reports.push(report));
  const { attempted, committed, observer } = reporter;
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    observer.inFlight("deliver", attempt);
    observer.dueLag(attempt);
    attempted.notify(`dlv_${attempt}` as DeliveryId, "cust_1");
    committed({ transactions: attempt, durationMs: 1 });
  }
  const cause = new TypeError("the cause");
  observer.fault("deliver", Object.assign(new RangeError("a fault", { cause }), { toPass: () => {} }));
  await delay(40);
  assert.equal(reports.length, 1);
  const [report] = structuredClone(reports);
  assert.ok(report !== undefined);
  assert.deepEqual(
    [report.attempted, report.dueLagsMs, report.inFlight, report.commits.length],
    [["dlv_1", "dlv_2", "dlv_3"].map((id) => [id, "cust_1"]), [1, 2, 3], 3, 3],
  );
  const { error } = report.faults[0] as { error: Error };
  assert.deepEqual([error.message, (error.cause as Error).message], ["a fault", "the cause"]);
  assert.match(error.stack ?? "", /deliver-thread\.test/);
  observer.outOf("OUT_OF_FILES");
  reporter.flush();
  assert.deepEqual(reports[1]?.outOf, ["OUT_OF_FILES"]);
  assert.equal(reports[1]?.inFlight, 3, "a report repeats how many attempts are in flight");
});

test("the lag grows while something lags and the thread is late to look again, and the clock's shift is shared", async () => {
  const own = new DeliverState();
  const other = new DeliverState(own.shared);
  own.shift.ms = 315_360_000_000;
  assert.equal(other.shift.ms, 315_360_000_000);
  other.note(0, 7, 0);
  await delay(20);
  assert.deepEqual([own.lagMs, own.ended], [0, 7]);
  other.note(5, 8, 10_000);
  await delay(20);
  assert.deepEqual([own.lagMs, own.ended], [5, 8]);
  other.note(5, 9, 10);
  await delay(30);
  assert.ok(own.lagMs >= 20 && own.ended === 9, `${own.lagMs} ms`);
});
