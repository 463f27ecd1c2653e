/** Receivers in practice: slow, broken, unreachable, or at forbidden addresses. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Delivery } from "../../sdk/wire.ts";
import { emptyDirectory } from "../support/cli.ts";
import { drip, flood, type Hostile, hang, reset, startHostile } from "../support/hostile.ts";
import { nameServer } from "../support/name-server.ts";
import { type Running, startProcess } from "../support/process.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { until } from "../support/wait.ts";

const ENDED = { code: 0, signal: null };
/** An attempt ends within 30 s; the rest is for a busy machine. */
const ATTEMPT_MS_MAX = 40_000;
/** Longest delay of the good endpoint's webhooks: half of the 30 s that the bad endpoints take, on a busy machine. */
const LATE_MS_MAX = 15_000;
/** Twice the growth of a young heap before a collection; a response that was kept would be many times that. */
const GROWTH_MIB_MAX = 400;
/** Messages of the load, and how many a second: three events each, to seven endpoints. */
const MESSAGES = 300;
const PAUSE_MS = 25;

test("bad endpoints delay no good one, end after 30 s, and leave memory and sockets as they were", {
  timeout: 240_000,
}, async (t) => {
  const service = await startProcess(t, { dataDir: join(emptyDirectory(t), "data") });
  const good = await receiverFor(t);
  const elsewhere = await startHostile(t, hang);
  const redirecting = await receiverFor(t);
  redirecting.answer = (_, response) => {
    const to = [`http://127.0.0.1:${elsewhere.port}/private`, "http://169.254.169.254/latest/meta-data/"];
    response.writeHead(302, { location: to[redirecting.received.length % 2] ?? "" }).end();
  };
  const bad: Record<string, Hostile> = {
    hangs: await startHostile(t, hang),
    drips: await startHostile(t, drip),
    resets: await startHostile(t, reset),
    floods: await startHostile(t, flood),
    untrusted: await startHostile(t, hang, { tls: true }),
  };
  const ids: Record<string, string> = { redirects: await endpoint(service, redirecting.url) };
  for (const [name, { url }] of Object.entries(bad)) ids[name] = await endpoint(service, url);
  await service.ask("PUT", "/v1/webhooks", { url: good.url, events: ["*"] });
  const isNotified = (count: number) => () => good.received.length >= 3 * count;

  await load(service, 50);
  await until(isNotified(50), { limitMs: 60_000, what: "the first messages to be told of" });
  const before = footprint(service);
  const peak = { ...before };
  const watch = setInterval(() => {
    const { mib, files } = footprint(service);
    Object.assign(peak, { mib: Math.max(peak.mib, mib), files: Math.max(peak.files, files) });
  }, 200);
  t.after(() => clearInterval(watch));
  await load(service, MESSAGES);
  await until(isNotified(50 + MESSAGES), { limitMs: 60_000, what: "the good endpoint to be told of everything" });
  const late = good.received.slice(150).map(({ at, event }) => at - Date.parse(event.timestamp));
  late.sort((a, b) => a - b);
  const [p50 = 0, p99 = 0] = [0.5, 0.99].map((share) => late[Math.floor(late.length * share)]);

  const ends = async (name: string) => (await ended(service, ids[name] ?? ""))?.attempts[0];
  const first = async (name: string) => {
    await until(async () => (await ends(name)) !== undefined, { limitMs: 60_000, what: `an attempt at what ${name}` });
    const attempt = await ends(name);
    assert.ok(attempt !== undefined && attempt.durationMs <= ATTEMPT_MS_MAX, `${name}: ${JSON.stringify(attempt)}`);
    return attempt;
  };
  assert.deepEqual([(await first("redirects")).status, elsewhere.connections()], [302, 0]);
  assert.equal((await first("resets")).error, "CONNECTION_RESET");
  assert.equal((await first("untrusted")).error, "TLS_FAILED");
  assert.equal(bad.untrusted?.requests(), 0);
  const flooded = await first("floods");
  assert.deepEqual([flooded.status, flooded.response], [200, "x".repeat(1_024)]);
  await until(() => bad.floods?.open() === 0, { what: "the end of every flood" });
  for (const name of ["hangs", "drips"]) {
    const { error, durationMs } = await first(name);
    assert.equal(error, "TIMEOUT", name);
    assert.ok(durationMs >= 29_000, `${name} has its 30 s, not ${durationMs} ms`);
  }
  clearInterval(watch);
  t.diagnostic(JSON.stringify({ lateMsP50: p50, lateMsP99: p99, before, peak }));
  assert.ok(p99 < LATE_MS_MAX, `the good endpoint was told ${p99} ms late (p99)`);
  assert.ok(peak.mib - before.mib < GROWTH_MIB_MAX, `memory grew from ${before.mib} MiB to ${peak.mib} MiB`);
  assert.ok(peak.files < 400, `${peak.files} open files`);
  assert.equal(good.received.length, 3 * (50 + MESSAGES), "and it was told of each event once");
  for (const { stop } of Object.values(bad)) await stop();
  assert.deepEqual(await service.end("SIGTERM"), ENDED);
});

test("a failed delivery is retried by the schedule to the letter, then exhausted, and by hand once more", async (t) => {
  const env = { TB_WEBHOOK_RETRY_SCHEDULE: "200ms,300ms" };
  const service = await startProcess(t, { dataDir: join(emptyDirectory(t), "data"), env });
  const statuses: Record<string, number> = { fails: 500, gone: 410, busy: 429, moved: 301, refuses: 404 };
  const answering: Record<string, Receiver> = {};
  const urls: Record<string, string> = {};
  for (const [name, status] of Object.entries(statuses)) {
    const receiver = await receiverFor(t);
    receiver.answer = (_, response) => response.writeHead(status, { location: "/elsewhere" }).end(`no: ${status}`);
    answering[name] = receiver;
    urls[name] = receiver.url;
  }
  const resetting = await startHostile(t, reset);
  const untrusted = await startHostile(t, hang, { tls: true });
  const closed = await startHostile(t, hang);
  await closed.stop();
  Object.assign(urls, { resets: resetting.url, untrusted: untrusted.url, closed: closed.url });
  const errors: Record<string, string> = {
    resets: "CONNECTION_RESET",
    untrusted: "TLS_FAILED",
    closed: "CONNECTION_REFUSED",
  };
  const deliveries: Record<string, string> = {};
  for (const [name, url] of Object.entries(urls)) {
    const id = await endpoint(service, url);
    deliveries[name] = (await service.ask("POST", `/v1/webhooks/${id}/test`)).data.id;
  }
  for (const [name, id] of Object.entries(deliveries)) {
    const delivery = await reaches(service, id, "exhausted");
    assert.equal(delivery.nextAttemptAt, null);
    const expected = { status: statuses[name] ?? null, error: errors[name] ?? null };
    assert.deepEqual(
      delivery.attempts.map(({ status, error }) => ({ status, error })),
      [expected, expected, expected],
      name,
    );
    const gaps = pauses(delivery);
    for (const [index, floorMs] of [200, 300].entries()) {
      const gap = gaps[index] ?? 0;
      // Both ends are whole milliseconds. Beyond this the machine is late, not the schedule.
      assert.ok(gap >= floorMs - 2 && gap < floorMs + 10_000, `${name}: ${floorMs} ms became ${gap} ms`);
    }
    const receiver = answering[name];
    if (receiver === undefined) continue;
    assert.equal(receiver.received.length, 3, `${name}: what is logged is what came`);
    assert.equal(new Set(receiver.received.map(({ body }) => body)).size, 1, "the same bytes each time");
    assert.equal(delivery.attempts[0]?.response, `no: ${statuses[name]}`);
  }
  assert.equal(resetting.requests(), 3);
  assert.equal(untrusted.requests(), 0);

  const id = deliveries.gone ?? "";
  const retry = () => service.ask("POST", `/v1/webhooks/deliveries/${id}/retry`);
  assert.equal((await retry()).status, 202);
  const fourth = await attempts(service, id, 4);
  assert.deepEqual(
    [fourth.status, fourth.nextAttemptAt],
    ["exhausted", null],
    "by hand is one attempt and no schedule",
  );
  if (answering.gone !== undefined) answering.gone.answer = (_, response) => response.end("at last");
  assert.equal((await retry()).status, 202);
  const last = await reaches(service, id, "succeeded");
  assert.deepEqual(
    last.attempts.map(({ status }) => status),
    [410, 410, 410, 410, 200],
  );
  assert.deepEqual(await service.end("SIGTERM"), ENDED);
});

/** Addresses that no caller may name, wherever they are written. `P` is a port that something listens on. */
const PRIVATE = [
  "https://127.0.0.1:P/",
  "https://127.1:P/",
  "https://2130706433:P/",
  "https://0x7f000001:P/",
  "https://0x7f.1:P/",
  "https://0177.0.0.1:P/",
  "https://017700000001:P/",
  "https://127.0.0.1.:P/",
  "https://①②⑦.⓪.⓪.①:P/",
  "https://127。0。0。1:P/",
  "https://%31%32%37.0.0.1:P/",
  "https://0:P/",
  "https://0.0.0.0:P/",
  "https://[::]:P/",
  "https://[::1]:P/",
  "https://[0:0:0:0:0:0:0:1]:P/",
  "https://[::ffff:127.0.0.1]:P/",
  "https://[::ffff:7f00:1]:P/",
  "https://[::127.0.0.1]:P/",
  "https://[64:ff9b::7f00:1]:P/",
  "https://[2002:7f00:1::]:P/",
  "https://[2001:0:7f00:1::]:P/",
  "https://[fe80::1]:P/",
  "https://[fd00:ec2::254]/",
  "https://169.254.169.254/latest/meta-data/",
  "https://[::ffff:169.254.169.254]/",
  "https://10.0.0.1/",
  "https://172.16.0.1/",
  "https://192.168.1.1/",
  "https://100.64.0.1/",
  "https://localhost:P/",
  "https://LOCALHOST.:P/",
  "https://a.localhost:P/",
  "https://printer.local/",
  "https://metadata.google.internal/",
  "https://user:secret@example.com/",
  "http://example.com/",
  "http://127.0.0.1:P/",
  "https:///127.0.0.1:P/",
  "https:\\\\127.0.0.1:P\\",
  "ftp://example.com/",
];

test("with nothing allowed no private address can be configured, in whatever form it is written", async (t) => {
  const env = { TB_WEBHOOK_ALLOW: "", TB_SANDBOX_INBOX: "on" };
  const service = await startProcess(t, { dataDir: join(emptyDirectory(t), "data"), env });
  const trap = await startHostile(t, hang);
  for (const form of PRIVATE) {
    const url = form.replace(":P", `:${trap.port}`);
    const message = { to: "+15005550100", content: { text: "Hello" }, callbackUrl: url };
    const refusals = [
      [await service.ask("PUT", "/v1/webhooks", { url, events: ["*"] }), "url"],
      [await service.ask("POST", "/v1/webhooks", { url, events: ["*"] }), "url"],
      [await service.ask("POST", "/v1/messages", message), "callbackUrl"],
    ] as const;
    for (const [{ status, error }, path] of refusals) {
      assert.deepEqual([status, error?.code], [400, "VALIDATION_ERROR"], url);
      assert.deepEqual(
        error?.details?.map((detail) => detail.path),
        [path],
        url,
      );
    }
  }
  assert.deepEqual((await service.ask("GET", "/v1/webhooks/list")).data, []);
  assert.equal(trap.connections(), 0);
  // The service's own inbox is on loopback, and is none of the callers' addresses.
  await service.ask("POST", "/v1/messages", { to: "+15005550100", content: { text: "Hello" } });
  const inbox = async () => (await service.ask("GET", "/v1/sandbox/inbox")).data;
  await until(async () => JSON.stringify(await inbox()).includes("message.delivered"));
});

test("a name that leads to a private address is refused at each attempt, in the same words", async (t) => {
  const v6 = (hex: string) => Buffer.from(hex, "hex");
  const zone = (a: string[], aaaa: Buffer[] = []) => ({ a, aaaa, ttlSeconds: 0 });
  const names = await nameServer({
    "loopback.example.test": zone(["127.0.0.1"]),
    "other-loopback.example.test": zone(["127.8.9.10"]),
    "metadata.example.test": zone(["169.254.169.254"]),
    "network.example.test": zone(["10.1.2.3"]),
    "mixed.example.test": zone(["93.184.216.34", "127.0.0.1"]),
    "six.example.test": zone([], [v6("00000000000000000000000000000001")]),
    "mapped.example.test": zone([], [v6("00000000000000000000ffff7f000001")]),
    "wildcard.example.test": zone(["0.0.0.0"]),
  });
  t.after(() => names.close());
  const behind = ownNames(emptyDirectory(t), names.address);
  if (behind === null) {
    t.skip("a resolv.conf of its own is not permitted here: unshare -rm and mount --bind must work");
    return;
  }
  const env = { TB_WEBHOOK_ALLOW: "", TB_WEBHOOK_RETRY_SCHEDULE: "100ms" };
  const service = await startProcess(t, { dataDir: join(emptyDirectory(t), "data"), env, behind });
  const trap = await startHostile(t, hang, { tls: true });
  const hosts = ["loopback", "other-loopback", "metadata", "network", "mixed", "six", "mapped", "wildcard"];
  const deliveries = new Map<string, string>();
  for (const host of hosts) {
    const id = await endpoint(service, `https://${host}.example.test:${trap.port}/hook`);
    deliveries.set(host, (await service.ask("POST", `/v1/webhooks/${id}/test`)).data.id);
  }
  for (const [host, id] of deliveries) {
    const { attempts } = await reaches(service, id, "exhausted");
    const refused = { status: null, error: "ADDRESS_REFUSED", response: null };
    assert.deepEqual(
      attempts.map(({ status, error, response }) => ({ status, error, response })),
      [refused, refused],
      host,
    );
    assert.ok(names.asked.includes(`${host}.example.test 1`), `${host} was looked up at the test's name server`);
  }
  assert.equal(trap.connections(), 0);
});

async function receiverFor(t: TestContext): Promise<Receiver> {
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  return receiver;
}

async function endpoint(service: Running, url: string): Promise<string> {
  const { status, data, text } = await service.ask("POST", "/v1/webhooks", { url, events: ["*"] });
  assert.equal(status, 201, text);
  return data.id;
}

/** Sends messages at an even pace, each with three webhooks. */
async function load(service: Running, count: number): Promise<void> {
  for (let number = 0; number < count; number += 1) {
    const body = { to: "+15005550100", content: { text: `load ${number}` } };
    assert.equal((await service.ask("POST", "/v1/messages", body)).status, 202);
    // The load's own pace, not a wait for anything.
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

/** The resources that the process uses. */
function footprint({ pid }: Running): { mib: number; files: number } {
  const kib = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  return { mib: Math.round(kib / 1_024), files: readdirSync(`/proc/${pid}/fd`).length };
}

/** A delivery of an endpoint that has been tried, the oldest of the newest hundred. */
async function ended(service: Running, webhookId: string): Promise<Delivery | undefined> {
  let cursor = "";
  let found: Delivery | undefined;
  for (;;) {
    const path = `/v1/webhooks/deliveries?webhookId=${webhookId}&limit=100${cursor}`;
    const { data } = await service.ask("GET", path);
    found = (data.deliveries as Delivery[]).findLast(({ attempts }) => attempts.length > 0) ?? found;
    if (data.pagination.nextCursor === null) return found;
    cursor = `&cursor=${data.pagination.nextCursor}`;
  }
}

/** The delivery once it has this status. */
async function reaches(service: Running, id: string, status: string): Promise<Delivery> {
  const ask = async () => (await service.ask("GET", `/v1/webhooks/deliveries/${id}`)).data as Delivery;
  await until(async () => (await ask()).status === status, { what: `${id} to be ${status}` });
  return ask();
}

/** The delivery once it was tried this often. */
async function attempts(service: Running, id: string, count: number): Promise<Delivery> {
  const ask = async () => (await service.ask("GET", `/v1/webhooks/deliveries/${id}`)).data as Delivery;
  await until(async () => (await ask()).attempts.length === count, { what: `${count} attempts` });
  return ask();
}

/** Milliseconds from the end of each attempt to the begin of the next. */
function pauses({ attempts }: Delivery): number[] {
  return attempts.slice(1).map(({ at }, index) => {
    const before = attempts[index];
    return Date.parse(at) - Date.parse(before?.at ?? "") - (before?.durationMs ?? 0);
  });
}

/** The command to run behind so that `server` is the only name server. Null if that is not permitted. */
function ownNames(directory: string, server: string): string[] | null {
  const conf = join(directory, "resolv.conf");
  writeFileSync(conf, `nameserver ${server}\n`);
  const mount = 'mount --bind "$0" /etc/resolv.conf && exec "$@"';
  const behind = ["unshare", "-rm", "sh", "-c", mount, conf];
  try {
    const seen = execFileSync("unshare", [...behind.slice(1), "cat", "/etc/resolv.conf"], { encoding: "utf8" });
    return seen.includes(server) ? behind : null;
  } catch {
    return null;
  }
}
