/** The sandbox's clock over HTTP: it moves schedules, and nothing that must keep real time. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Data, number, SandboxStage } from "../support/sandbox.ts";
import { until } from "../support/wait.ts";

const HOUR_MS = 3_600_000;

async function started(t: { after(done: () => Promise<void>): void }, env: Record<string, string> = {}) {
  const stage = await SandboxStage.start(env);
  t.after(() => stage.api.stop());
  const advance = (by: string) => stage.data("POST", "/v1/sandbox/clock", { advance: by });
  return { stage, advance };
}

test("the clock advances, survives a restart, and can be reset to real time", async (t) => {
  const { stage, advance } = await started(t);
  const { offsetMs, now } = await stage.data("GET", "/v1/sandbox/clock");
  assert.equal(offsetMs, 0);
  assert.ok(Math.abs(Date.parse(now) - Date.now()) < 2_000);
  assert.equal((await advance("30s")).offsetMs, 30_000);
  assert.equal((await advance("2h")).offsetMs, 2 * HOUR_MS + 30_000);
  await stage.api.restart();
  const kept = await stage.data("GET", "/v1/sandbox/clock");
  assert.equal(kept.offsetMs, 2 * HOUR_MS + 30_000);
  assert.ok(Date.parse(kept.now) - Date.now() > 2 * HOUR_MS);
  const { id, createdAt } = await stage.send("0100");
  assert.ok(Date.parse(createdAt) - Date.now() > 2 * HOUR_MS);
  await stage.reached(id, "delivered");
  assert.equal((await stage.data("POST", "/v1/sandbox/clock", { reset: true })).offsetMs, 0);
  assert.equal((await stage.data("GET", `/v1/messages/${id}`)).createdAt, createdAt, "records keep their times");
  await stage.api.restart();
  assert.equal((await stage.data("GET", "/v1/sandbox/clock")).offsetMs, 0);
});

test("requests, timelines, attempts and requests of the inbox have their real time beside that of a clock that is ahead", async (t) => {
  const { stage, advance } = await started(t, { TB_SANDBOX_INBOX: "on" });
  await stage.data("PUT", "/v1/webhooks", { url: "http://127.0.0.1:9/nobody", events: ["message.delivered"] });
  await stage.data("PUT", "/v1/opt-outs/settings", { confirmation: "You will get no more messages." });
  const before = await stage.send("0100");
  await stage.reached(before.id, "delivered");
  const startedAt = Date.now();
  await advance("1h");
  await stage.data("POST", `/v1/messages/${before.id}/unsend`, {});
  const after = await stage.send("0100");
  await stage.data("POST", `/v1/sandbox/phones/${number("0199")}/messages`, { text: "STOP" });
  await stage.reached(after.id, "delivered");
  /** How far the clock was ahead when a record was made, in milliseconds; 0 if the record has no real time. */
  const aheadOf = (at: string, realAt: string | null | undefined) => {
    if (typeof realAt !== "string") return 0;
    assert.ok(Date.parse(realAt) >= startedAt && Date.parse(realAt) <= Date.now(), realAt);
    return Date.parse(at) - Date.parse(realAt);
  };

  const { messages }: { messages: Data[] } = await stage.data("GET", "/v1/messages");
  const timelineOf = (id: string) => messages.find((one) => one.id === id)?.timeline as Data[];
  for (const { id, timeline } of messages as { id: string; timeline: Data[] }[])
    for (const { at, realAt, status } of timeline) {
      const isAfter = Date.parse(at) >= startedAt + HOUR_MS;
      assert.equal(aheadOf(at, realAt), isAfter ? HOUR_MS : 0, `${id} ${status}`);
    }
  assert.deepEqual(
    [timelineOf(before.id).at(-1)?.status, "realAt" in (timelineOf(before.id)[0] ?? {})],
    ["unsent", false],
  );
  const answered = messages.filter(({ direction, origin }) => direction === "inbound" || origin === "service");
  assert.ok(answered.length >= 2, "the STOP and its confirmation");
  const tried = async () => {
    const { deliveries } = await stage.data("GET", `/v1/webhooks/deliveries?messageId=${after.id}`);
    return (deliveries as Data[]).flatMap(({ attempts }) => attempts as Data[]);
  };
  await until(async () => (await tried()).length > 0, { what: "an attempt" });
  for (const { at, realAt } of await tried()) assert.equal(aheadOf(at, realAt), HOUR_MS);

  const { requests: log }: { requests: Data[] } = await stage.data("GET", "/v1/requests");
  const moved = log.find(({ path, method }) => method === "POST" && path === "/v1/sandbox/clock");
  assert.equal(moved?.realAt, undefined, "the request that moves the clock came before");
  assert.ok(Date.parse(moved?.createdAt) < startedAt + HOUR_MS);
  const sent = log.find(({ path, method }) => method === "POST" && path === "/v1/messages");
  assert.ok(Math.abs(aheadOf(sent?.createdAt, sent?.realAt) - HOUR_MS) <= 2);

  const inbox: { requests: Data[] } = await stage.data("GET", "/v1/sandbox/inbox");
  const ofInbox = inbox.requests.map(({ receivedAt, realAt }) => Math.abs(aheadOf(receivedAt, realAt)));
  assert.ok(Math.abs((ofInbox[0] ?? 0) - HOUR_MS) <= 2);
  assert.equal(ofInbox.at(-1), 0);
});

test("a repeated idempotency key moves the clock once, and moves at once add up", async (t) => {
  const { stage } = await started(t);
  const move = () => stage.data("POST", "/v1/sandbox/clock", { advance: "1h", idempotencyKey: "once" });
  await Promise.all([move(), move(), move()]);
  assert.equal((await move()).offsetMs, HOUR_MS);
  const moves = Array.from({ length: 20 }, () => stage.data("POST", "/v1/sandbox/clock", { advance: "1m" }));
  await Promise.all(moves);
  assert.equal((await stage.data("GET", "/v1/sandbox/clock")).offsetMs, HOUR_MS + 20 * 60_000);
});

test("the clock is back on real time before a provider for real people is connected", async (t) => {
  const { stage, advance } = await started(t);
  await advance("5h");
  const config = { accountSid: `AC${"0".repeat(32)}`, authToken: "0".repeat(32), baseUrl: "http://127.0.0.1:9" };
  const instance = { name: "Carrier", provider: "twilio", config };
  const { id, createdAt } = await stage.admin("POST", "/v1/admin/instances", instance);
  assert.ok(Date.parse(createdAt) - Date.now() < HOUR_MS);
  await stage.refused("POST", "/v1/sandbox/clock", { advance: "1h" }, 409, "CLOCK_LOCKED");
  assert.equal((await stage.data("GET", "/v1/sandbox/clock")).offsetMs, 0);
  await stage.data("POST", "/v1/sandbox/clock", { reset: true });
  assert.equal((await stage.api.ask("DELETE", `/v1/admin/instances/${id}`, { key: stage.api.adminKey })).status, 200);
  assert.equal((await advance("1h")).offsetMs, HOUR_MS);
  await stage.admin("POST", "/v1/admin/instances", instance);
  assert.equal((await stage.data("GET", "/v1/sandbox/clock")).offsetMs, 0);
});

/** The specification's table (6.4), and how the clock gets to just before each retry and then past it and its jitter. */
const RETRIES: [delayMs: number, almost: string, past: string][] = [
  [30_000, "25s", "10s"],
  [300_000, "295s", "40s"],
  [1_800_000, "1795s", "40s"],
  [7_200_000, "7195s", "40s"],
  [28_800_000, "28795s", "40s"],
  [86_400_000, "86395s", "40s"],
  [86_400_000, "86395s", "40s"],
];

test("the clock drives all seven retries of a delivery, each on time, until it is exhausted", async (t) => {
  const { stage, advance } = await started(t, { TB_SANDBOX_INBOX: "on" });
  await stage.data("PUT", "/v1/sandbox/inbox/behaviour", { status: 503 });
  const { id } = await stage.send("0105", { routing: { preference: ["imessage"] } });
  await stage.reached(id, "failed");
  const triedAt = await attemptsOf(stage, id, 1);
  for (const [index, [, almost, past]] of RETRIES.entries()) {
    await advance(almost);
    // An event arrives in the inbox now, and so would a due retry.
    await attemptsOf(stage, (await stage.send("0100")).id, 1, 3);
    assert.deepEqual(await attemptsOf(stage, id, index + 1), triedAt, `retry ${index + 1} came before its time`);
    await advance(past);
    triedAt.splice(0, 2, ...(await attemptsOf(stage, id, index + 2)));
  }
  for (const times of triedAt) {
    const delays = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    for (const [index, [delayMs]] of RETRIES.entries()) {
      const delay = delays[index] ?? 0;
      assert.ok(delay >= delayMs && delay < delayMs + 45_000, `retry ${index + 1} came after ${delay} ms`);
    }
  }
  await advance("30d");
  await attemptsOf(stage, (await stage.send("0100")).id, 1, 3);
  assert.deepEqual(await attemptsOf(stage, id, 8), triedAt);
});

/** When the inbox was sent each of a message's `events` events, once each was sent `tries` times at least. */
async function attemptsOf(stage: SandboxStage, messageId: string, tries: number, events = 2): Promise<number[][]> {
  const find = async (): Promise<number[][]> => {
    const found: Data[] = (await stage.data("GET", `/v1/events?messageId=${messageId}`)).events;
    const { requests }: { requests: Data[] } = await stage.data("GET", "/v1/sandbox/inbox");
    const of = (id: string) => requests.filter(({ headers }) => headers["webhook-id"] === id);
    return found.map((event) => of(event.id).map(({ receivedAt }) => Date.parse(receivedAt))).map((one) => one.sort());
  };
  const isThere = async () => {
    const found = await find();
    return found.length >= events && found.every(({ length }) => length >= tries);
  };
  await until(isThere, { what: `${tries} attempts at the events of ${messageId}` });
  return await find();
}

test("the clock drives fallback, schedules, payment expiry and message expiry", async (t) => {
  const { stage, advance } = await started(t);
  const waiting = await stage.send("0103", { routing: { fallbackAfterSeconds: 3_600 } });
  const later = await stage.send("0100", { scheduledAt: new Date(Date.now() + 20 * HOUR_MS).toISOString() });
  const request = { to: number("0113"), amount: 9.99, expiresInSeconds: 5 * 3_600 };
  const payment = await stage.data("POST", "/v1/payments/request", request);
  await stage.reached(waiting.id, "sent");
  const from = await stage.newest();
  await advance("59m");
  assert.equal((await stage.data("GET", `/v1/messages/${waiting.id}`)).status, "sent");
  await advance("2m");
  assert.equal((await stage.reached(waiting.id, "delivered")).channel, "sms");
  const types = (await stage.eventsAfter(from)).filter(({ data }) => data.messageId === waiting.id);
  assert.deepEqual(
    types.map(({ type }) => type),
    ["message.fallback", "message.sent", "message.delivered"],
  );
  const { reason, fallbackFrom, channel } = types[0]?.data ?? {};
  assert.deepEqual([reason, fallbackFrom, channel], ["NO_DELIVERY", "imessage", "sms"]);
  await advance("4h");
  const expired = await until(async () => {
    const record = await stage.data("GET", `/v1/payments/requests/${payment.id}`);
    return record.status === "expired" && record;
  });
  assert.equal(expired.paidBy, null);
  assert.equal((await stage.eventsAfter(from)).filter(({ type }) => type === "payment.request.expired").length, 1);
  assert.equal((await stage.data("GET", `/v1/messages/${later.id}`)).status, "scheduled");
  await advance("16h");
  const due = await stage.reached(later.id, "delivered");
  assert.ok(Date.parse(due.sentAt) >= Date.parse(due.scheduledAt));
});

test("signatures, keys and rate limits use real time", async (t) => {
  const { stage, advance } = await started(t, { TB_SANDBOX_INBOX: "on", TB_RATE_LIMIT: "500/3600s" });
  const { customerId } = await stage.data("GET", "/v1/sandbox/inbox").then(async () => {
    const { customers } = await stage.data("GET", "/v1/admin/customers", undefined, stage.api.adminKey);
    return { customerId: customers[0].id as string };
  });
  const expiresAt = new Date(Date.now() + HOUR_MS).toISOString();
  const { key } = await stage.admin("POST", "/v1/admin/keys", { name: "Short", customerId, expiresAt });
  const before = await stage.api.ask("GET", "/v1/messages");
  await advance("100d");
  assert.equal((await stage.api.ask("GET", "/v1/messages", { key })).status, 200);
  const left = (answer: { headers: Headers }) => Number(answer.headers.get("x-ratelimit-remaining"));
  assert.ok(left(await stage.api.ask("GET", "/v1/messages")) < left(before));
  const { id } = await stage.send("0100");
  await stage.reached(id, "delivered");
  const verified = await until(async () => {
    const { requests } = await stage.data("GET", "/v1/sandbox/inbox");
    return requests.find(({ body }: { body: string }) => body.includes(id));
  });
  assert.equal(verified.verified, true);
  assert.ok(Math.abs(Number(verified.headers["x-timestamp"]) - Date.now() / 1_000) < 10);
  assert.ok(Date.parse(JSON.parse(verified.body).timestamp) - Date.now() > 99 * 24 * HOUR_MS);
});
