/** A full disk: new work is refused, acknowledged work stays, and the service recovers by itself. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readdirSync, rmSync, statSync, truncateSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Message } from "../../sdk/wire.ts";
import { emptyDirectory } from "../support/cli.ts";
import {
  type Answered,
  allPages,
  type Exit,
  type Running,
  type StartFailed,
  spawnCommand,
  startProcess,
} from "../support/process.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { until } from "../support/wait.ts";

const ENDED = { code: 0, signal: null };
/** Long texts fill the remaining space. */
const TEXT = "x".repeat(9_000);
const REQUESTS_MAX = 2_000;
/** Recipients that take several commits each, also while there is no room for them. */
const RECIPIENTS = ["+15005550100", "+15005550101", "+15005550102", "+15005550106", "+15005550107"];

test("on a full disk the API responds with 503 and loses nothing acknowledged, and the service recovers once there is room", async (t) => {
  const disk = await smallDisk(t);
  if (disk === null) {
    t.skip("a file system of its own is not permitted here: unshare -rm and nsenter must work");
    return;
  }
  const { dataDir, behind, seen } = disk;
  const receiver = await receiverFor(t);
  const service = await startProcess(t, { dataDir, behind });
  await configure(service, receiver);
  const acknowledged = [await accepted(service, 0)];
  const filler = join(seen, "filler");
  fill(filler);
  await whileFull(service, acknowledged);
  fill(filler);
  const before = await count(service);
  const refused = await service.ask("POST", "/v1/messages", message(REQUESTS_MAX));
  assertFull(refused);
  assert.equal(await count(service), before, "a refused request leaves nothing behind");

  rmSync(filler);
  await recovers(service, acknowledged, receiver);
  // Killed at the very moment that the disk is full, with send attempts and deliveries in flight.
  fill(filler);
  truncateSync(filler, statSync(filler).size - 300_000);
  const taken = acknowledged.length;
  await whileFull(service, acknowledged);
  assert.ok(acknowledged.length > taken, "there was room for some");
  await service.end("SIGKILL");
  fill(filler);
  await assert.rejects(startProcess(t, { dataDir, behind }), (error: StartFailed) => {
    assertRefused(error.spawned.output.stderr, error.exit);
    return true;
  });
  rmSync(filler);
  const next = await startProcess(t, { dataDir, behind });
  await recovers(next, acknowledged, receiver);
  assert.deepEqual(await next.end("SIGTERM"), ENDED);
});

test("a first start on a full disk says so in one line and exits with 1; with room it starts", async (t) => {
  const disk = await smallDisk(t);
  if (disk === null) {
    t.skip("a file system of its own is not permitted here: unshare -rm and nsenter must work");
    return;
  }
  const { dataDir, behind, seen } = disk;
  const filler = join(seen, "filler");
  // No room at all, then room for the key, for some tables, for their first rows, until there is enough.
  let service: Running | null = null;
  for (let slack = 0; service === null; slack += 120_000) {
    assert.ok(slack < 2_000_000, "a start needs less than that");
    fill(filler);
    truncateSync(filler, statSync(filler).size - slack);
    service = await startProcess(t, { dataDir, behind }).catch((error: StartFailed) => {
      assertRefused(error.spawned.output.stderr, error.exit);
      return null;
    });
    if (slack === 0) assert.equal(service, null);
  }
  rmSync(filler);
  await accepted(service, 0);
  assert.deepEqual(await service.end("SIGTERM"), ENDED);
});

test("a start without room for the vacuum after an erasure says so and serves; the next one with room vacuums", async (t) => {
  const disk = await smallDisk(t);
  if (disk === null) {
    t.skip("a file system of its own is not permitted here: unshare -rm and nsenter must work");
    return;
  }
  const { dataDir, behind, seen } = disk;
  const service = await startProcess(t, { dataDir, behind });
  const { data } = await service.ask("POST", "/v1/contacts", { phoneNumber: "+15005550100" });
  await accepted(service, 0);
  const erase = () => service.ask("DELETE", `/v1/contacts/${data.id}?erase=true`);
  await until(async () => (await erase()).data.erasedAt !== null, { limitMs: 60_000 });
  assert.deepEqual(await service.end("SIGTERM"), ENDED);
  const filler = join(seen, "filler");
  fill(filler);
  truncateSync(filler, statSync(filler).size - 1_200_000);
  const given = await startProcess(t, { dataDir, behind });
  assert.match(
    given.output.stdout,
    /"reason":"copies [^"]* has \S+ MB free, and [^"]* run tightbeam vacuum","event":"vacuum"/,
  );
  assert.deepEqual(await given.end("SIGTERM"), ENDED);
  rmSync(filler);
  const next = await startProcess(t, { dataDir, behind });
  assert.match(next.output.stdout, /"reason":"a contact was erased: vacuuming [^"]*","event":"vacuum"/);
});

const limited = "a file that may not grow is a full disk too: refused, nothing lost, and well again when it may";

test(limited, { timeout: 200_000 }, async (t) => {
  const limit = (pid: number, bytes: string) => execFileSync("prlimit", ["--pid", String(pid), `--fsize=${bytes}:`]);
  try {
    limit(process.pid, "unlimited");
  } catch {
    t.skip("util-linux's prlimit, which sets the limit of a running process, is not installed or not permitted");
    return;
  }
  const dataDir = join(emptyDirectory(t), "data");
  const receiver = await receiverFor(t);
  const service = await startProcess(t, { dataDir });
  await configure(service, receiver);
  const acknowledged = [await accepted(service, 0)];
  limit(service.pid, String(statSync(join(dataDir, "tightbeam.db-wal")).size + 60_000));
  await whileFull(service, acknowledged);
  limit(service.pid, "unlimited");
  await recovers(service, acknowledged, receiver);
  assert.deepEqual(await service.end("SIGTERM"), ENDED);
});

/** A start without room ends with 1 and one line with the reason. */
function assertRefused(stderr: string, exit: Exit): void {
  assert.deepEqual(exit, { code: 1, signal: null }, stderr);
  assert.match(stderr, /^error: [^\n]+\n$/);
  assert.match(stderr, /no space|disk is full|disk I\/O error|no room/);
  assert.doesNotMatch(stderr, / at |SQLITE_/);
}

/** Sends until the disk is full, and checks the state of the service. */
async function whileFull(service: Running, acknowledged: Message[]): Promise<void> {
  for (let number = acknowledged.length; ; number += 1) {
    assert.ok(number < REQUESTS_MAX, "the disk is never full");
    const answer = await service.ask("POST", "/v1/messages", message(number));
    if (answer.status === 202) acknowledged.push(answer.data);
    else {
      assertFull(answer);
      break;
    }
  }
  for (const path of ["/v1/messages", `/v1/messages/${acknowledged[0]?.id}`, "/v1/events", "/v1/webhooks"]) {
    assert.equal((await service.ask("GET", path)).status, 200, path);
  }
  const live = await fetch(`${service.url}/healthz`);
  assert.equal(live.status, 200);
}

/** Waits until every acknowledged message has ended, its webhooks were delivered, and new messages are accepted. */
async function recovers(service: Running, acknowledged: Message[], receiver: Receiver): Promise<void> {
  await until(
    async () => {
      const answer = await service.ask("POST", "/v1/messages", message(acknowledged.length));
      if (answer.status === 202) acknowledged.push(answer.data);
      else assertFull(answer);
      return answer.status === 202;
    },
    { what: "room to be noticed" },
  );
  const ids = acknowledged.map(({ id }) => id).sort();
  await until(async () => (await messages(service)).every(({ status }) => ["delivered", "read"].includes(status)), {
    // Work that was leased while nothing could be written is claimed again when its lease has run out: 45 s.
    limitMs: 90_000,
    what: "every message to be delivered",
  });
  const found = await messages(service);
  assert.deepEqual(found.map(({ id }) => id).sort(), ids, "what was acknowledged is there, and nothing else");
  for (const { id, timeline } of found) {
    const attempts = timeline.filter(({ status, reason }) => status === "pending" && reason === undefined);
    const puttingOff = timeline.slice(1).filter(({ status, reason }) => status === "queued" && reason !== undefined);
    const fallbacks = timeline.filter(({ status, channel }) => status === "queued" && channel === "sms");
    const allowed = 1 + puttingOff.length + fallbacks.length;
    assert.ok(attempts.length <= allowed, `${id} was sent twice: ${JSON.stringify(timeline)}`);
  }
  const notified = () => new Set(receiver.received.map(({ event }) => event.data.messageId));
  await until(() => ids.every((id) => notified().has(id)), { limitMs: 60_000, what: "every message to be told of" });
  assert.equal(service.output.stderr, "");
}

function assertFull({ status, headers, error, text }: Answered): void {
  assert.equal(status, 503, text);
  assert.equal(error?.code, "SERVICE_UNAVAILABLE");
  assert.ok(Number(headers.get("retry-after")) >= 1, "Retry-After");
  assert.doesNotMatch(text, /SQLITE|tightbeam\.db|\bat /);
}

function message(number: number) {
  const to = RECIPIENTS[number % RECIPIENTS.length];
  return { to, content: { text: TEXT }, externalMessageId: String(number) };
}

async function accepted(service: Running, number: number): Promise<Message> {
  const { status, data, text } = await service.ask("POST", "/v1/messages", message(number));
  assert.equal(status, 202, text);
  return data;
}

async function messages(service: Running): Promise<Message[]> {
  return (await allPages<Message>(service, "/v1/messages", "messages")).flatMap(({ items }) => items);
}

async function count(service: Running): Promise<number> {
  return (await messages(service)).length;
}

async function receiverFor(t: TestContext): Promise<Receiver> {
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  return receiver;
}

async function configure(service: Running, { url }: Receiver): Promise<void> {
  const set = await service.ask("PUT", "/v1/webhooks", { url, events: ["message.delivered"] });
  assert.equal(set.status, 200);
}

interface Disk {
  /** The data directory, as the service sees it. */
  dataDir: string;
  /** The command that the service must run behind to see it. */
  behind: string[];
  /** The same directory, as the test sees it. */
  seen: string;
}

/**
 * A file system of 8 MiB in memory, in a mount namespace of its own, which a process holds until the test ends: it
 * needs no rights, and nothing of it can be left behind. Null where namespaces are not permitted.
 */
async function smallDisk(t: TestContext): Promise<Disk | null> {
  const directory = emptyDirectory(t);
  const mount = 'mount -t tmpfs -o size=8m none "$0" && echo mounted && exec sleep 600';
  const env = { PATH: process.env.PATH ?? "" };
  const holder = spawnCommand(t, ["unshare", "-rm", "sh", "-c", mount, directory], env);
  holder.exited.catch(() => {});
  if (holder.pid === 0) return null;
  const mounted = until(() => holder.output.stdout.includes("mounted"));
  const gone = once(holder.child, "close").then(() => false);
  if (!(await Promise.race([mounted, gone]))) return null;
  const behind = ["nsenter", `--target=${holder.pid}`, "--user", "--mount", "--preserve-credentials", "--wd=."];
  const seen = `/proc/${holder.pid}/root${directory}`;
  try {
    execFileSync(behind[0] ?? "", [...behind.slice(1), "true"], { stdio: "ignore" });
    readdirSync(seen);
  } catch {
    return null;
  }
  return { dataDir: directory, behind, seen };
}

/** Writes until there is no room for a single byte more. */
function fill(path: string): void {
  const file = openSync(path, "a");
  try {
    for (let bytes = 1 << 20; bytes >= 1; ) {
      try {
        writeSync(file, Buffer.alloc(bytes));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
        bytes >>= 1;
      }
    }
  } finally {
    closeSync(file);
  }
}
