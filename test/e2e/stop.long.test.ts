/** An orderly stop: the work that SIGTERM finishes, releases and refuses, and no process left running. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Delivery, Message } from "../../sdk/wire.ts";
import { emptyDirectory } from "../support/cli.ts";
import { hang, startHostile } from "../support/hostile.ts";
import { Load, seeded } from "../support/load.ts";
import {
  ADMIN_KEY,
  allPages,
  KEY,
  type Running,
  spawnCommand,
  spawnService,
  startProcess,
} from "../support/process.ts";
import { startReceiver } from "../support/receiver.ts";
import { until } from "../support/wait.ts";

/** Exit 0 within 30 s; the rest is for a busy machine. */
const STOP_MS_MAX = 30_000;
const ENDED = { code: 0, signal: null };

/** Loaded into the service: sends it the signal as soon as it listens to it, long before the end of its start. */
const INTERRUPT = `
  const { on } = process;
  process.on = function (name, listener) {
    on.call(this, name, listener);
    if (name === "SIGINT") process.kill(process.pid, "SIGINT");
    return this;
  };`;

test("Ctrl-C during the start ends the service in good order, and no greeting follows `stopping`", async (t) => {
  const dataDir = join(emptyDirectory(t), "data");
  const preload = `--import=data:text/javascript,${encodeURIComponent(INTERRUPT)}`;
  for (const env of [{}, { LOG_LEVEL: "error" }]) {
    const service = spawnService(t, { dataDir, env: { ...env, NODE_OPTIONS: preload } });
    assert.deepEqual(await service.exited, ENDED);
    assert.equal(service.output.stderr, "");
    const events = service.output.stdout.split("\n").filter((line) => line !== "");
    const last = events.slice(-2).map((line) => (JSON.parse(line) as { event: string }).event);
    assert.deepEqual(last, "LOG_LEVEL" in env ? [] : ["stopping", "stopped"]);
  }
});

describe("SIGTERM", { concurrency: true }, () => {
  test("a request in flight is finished, a new one refused with a 503 that names when to come back", async (t) => {
    const dataDir = join(emptyDirectory(t), "data");
    const service = await startProcess(t, { dataDir });
    const body = JSON.stringify({ to: "+15005550100", content: { text: "in flight" }, externalMessageId: "in flight" });
    const begun = await beginRequest(t, service, body);
    const kept = await keptConnection(t, service);
    // Its response takes 5 s: until then the service is stopping, and says so in its responses.
    await service.ask("POST", "/v1/messages", { to: "+15005550109", content: { text: "slow" } });
    await status(service, "pending", 1);
    service.child.kill("SIGTERM");
    await until(() => service.output.stdout.includes('"event":"stopping"'));
    const refused = await kept("GET /v1/messages");
    assert.match(refused, /^HTTP\/1\.1 503 .*\r\n/);
    assert.match(refused, /\r\nRetry-After: [1-9]/i);
    assert.match(refused, /"code":"SERVICE_UNAVAILABLE"/);
    const answer = await begun(body);
    assert.match(answer, /^HTTP\/1\.1 202 /);
    service.child.kill("SIGTERM");
    assert.deepEqual(await service.exited, ENDED);
    assert.equal(service.output.stderr, "");

    const next = await startProcess(t, { dataDir });
    const { data } = await next.ask("GET", "/v1/messages?externalMessageId=in%20flight");
    assert.equal(data.messages.length, 1);
    await status(next, "delivered", 2);
    assert.deepEqual(await next.end("SIGINT"), ENDED);
  });

  test("under load every response holds after the next start, and nothing is sent twice", async (t) => {
    const dataDir = join(emptyDirectory(t), "data");
    const receiver = await startReceiver();
    t.after(() => receiver.stop());
    const load = new Load({
      chance: seeded(1),
      recipients: ["+15005550100", "+15005550102", "+15005550107"],
      callbackUrl: receiver.url,
      workers: 4,
      pauseMs: 20,
    });
    for (let round = 0; round < 3; round += 1) {
      const service = await startProcess(t, { dataDir });
      const accepted = load.orders.length;
      load.start(service.url);
      await until(() => load.orders.length > accepted + 50);
      const exit = await service.end("SIGTERM");
      await load.stop();
      assert.deepEqual(exit, ENDED);
      assert.equal(service.output.stderr, "");
    }
    const service = await startProcess(t, { dataDir });
    await load.settle(service.url);
    const refusals = load.orders.flatMap(({ wrong }) => wrong);
    assert.ok(
      refusals.every((text) => /^(cancel: )?503 .*"SERVICE_UNAVAILABLE"/.test(text)),
      refusals.join("\n"),
    );
    const open = async () => (await service.ask("GET", "/v1/messages?status=scheduled&limit=1")).data.messages.length;
    await until(async () => (await open()) === 0);
    await until(async () => (await messagesOf(service)).every(({ status }) => /delivered|cancelled/.test(status)));
    const messages = await messagesOf(service);
    for (const { name, id } of load.orders) {
      const made = messages.filter(({ externalMessageId }) => externalMessageId === name);
      if (id !== null) assert.deepEqual([made.map((message) => message.id)], [[id]], name);
      else assert.ok(made.length <= 1, name);
    }
    for (const { timeline, id } of messages) {
      const attempts = timeline.filter(({ status, reason }) => status === "pending" && reason === undefined);
      assert.ok(attempts.length <= 2, `${id}: ${JSON.stringify(timeline)}`);
    }
    assert.deepEqual(await service.end("SIGTERM"), ENDED);
  });

  test("an open delivery is released uncounted after 25 s, and is attempted after the next start", async (t) => {
    const dataDir = join(emptyDirectory(t), "data");
    const hanging = await startHostile(t, hang);
    const service = await startProcess(t, { dataDir });
    await service.ask("PUT", "/v1/webhooks", { url: hanging.url, events: ["message.delivered"] });
    await service.ask("POST", "/v1/messages", { to: "+15005550100", content: { text: "hang" } });
    await until(() => hanging.requests() === 1);
    const from = performance.now();
    assert.deepEqual(await service.end("SIGTERM"), ENDED);
    assert.ok(performance.now() - from < STOP_MS_MAX, `it took ${performance.now() - from} ms`);
    assert.equal(service.output.stderr, "");
    await hanging.stop();

    const receiver = await startReceiver(hanging.port);
    t.after(() => receiver.stop());
    const next = await startProcess(t, { dataDir });
    await until(() => receiver.received.length === 1);
    const done = await until(async () => (await deliveries(next)).find(({ status }) => status === "succeeded"));
    assert.deepEqual(
      done?.attempts.map(({ status }) => status),
      [200],
      "the attempt that the stop cut off is not counted",
    );
    assert.deepEqual(await next.end("SIGTERM"), ENDED);
  });

  test("many slow send attempts do not delay the stop, and each is made once, at the latest after the next start", async (t) => {
    const dataDir = join(emptyDirectory(t), "data");
    const service = await startProcess(t, { dataDir });
    // The sandbox takes 5 s for each of them, in sequence. Other messages keep the lane's permits, so that all of them
    // are claimed at once.
    const scheduledAt = new Date(Date.now() + 10_000).toISOString();
    for (let number = 0; number < 10; number += 1) {
      const body = { to: "+15005550109", content: { text: `slow ${number}` }, scheduledAt };
      assert.equal((await service.ask("POST", "/v1/messages", body)).status, 202);
    }
    const others = new Load({
      chance: seeded(2),
      recipients: ["+15005550100", "+15005550101", "+15005550102"],
      callbackUrl: "http://127.0.0.1:9/",
      workers: 8,
      pauseMs: 1,
    });
    others.start(service.url);
    const slow = async () => (await service.ask("GET", "/v1/messages?to=%2B15005550109&status=pending")).data.messages;
    await until(async () => (await slow()).length > 0);
    await others.stop();
    const from = performance.now();
    assert.deepEqual(await service.end("SIGTERM"), ENDED);
    assert.ok(performance.now() - from < STOP_MS_MAX, `it took ${performance.now() - from} ms`);
    const next = await startProcess(t, { dataDir });
    const messages = (await messagesOf(next)).filter(({ to }) => to === "+15005550109");
    assert.equal(messages.length, 10);
    for (const { timeline } of messages) {
      const attempts = timeline.filter((entry) => entry.status === "pending");
      assert.ok(attempts.length <= 1, JSON.stringify(timeline));
    }
  });

  test("npm start passes SIGTERM on, and leaves no process behind", async (t) => {
    const dataDir = join(emptyDirectory(t), "data");
    const env = {
      PATH: process.env.PATH ?? "",
      HOME: emptyDirectory(t),
      npm_config_update_notifier: "false",
      PORT: "0",
      TB_DATA_DIR: dataDir,
      TB_API_KEY: KEY,
      TB_ADMIN_KEY: ADMIN_KEY,
    };
    const npm = spawnCommand(t, ["npm", "start", "--silent"], env);
    const listening = /"port":(\d+).*"event":"listening"/;
    const port = Number(await until(() => listening.exec(npm.output.stdout)?.[1], { limitMs: 120_000 }));
    await npm.end("SIGTERM");
    await until(() => isClosed(port), { what: "the port to be closed" });
    assert.match(npm.output.stdout, /"event":"stopped"/);
    assert.doesNotMatch(npm.output.stderr, /\bat |Error/);
    const next = await startProcess(t, { dataDir });
    assert.deepEqual(await next.end("SIGTERM"), ENDED);
  });
});

async function status(service: Running, name: string, count: number): Promise<void> {
  const ask = () => service.ask("GET", `/v1/messages?status=${name}`);
  await until(async () => (await ask()).data.messages.length === count, { what: `${count} ${name}` });
}

async function messagesOf(service: Running): Promise<Message[]> {
  return (await allPages<Message>(service, "/v1/messages", "messages")).flatMap(({ items }) => items);
}

async function deliveries(service: Running): Promise<Delivery[]> {
  return (await service.ask("GET", "/v1/webhooks/deliveries")).data.deliveries;
}

/** A socket that sends text and returns the received text, when it pauses. */
async function open(t: TestContext, { port }: Running): Promise<{ socket: Socket; next: () => Promise<string> }> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  t.after(() => socket.destroy());
  await once(socket, "connect");
  let received = "";
  socket.on("data", (chunk) => {
    received += chunk;
  });
  return {
    socket,
    async next() {
      const isWhole = () => /\r\n\r\n\{.*\}$/s.test(received);
      await until(isWhole, { what: "an answer" });
      const answer = received;
      received = "";
      return answer;
    },
  };
}

const HEAD = `Host: x\r\nAuthorization: Bearer ${KEY}\r\n`;

/** Sends the head of a request; the returned function sends the body and waits for the response. */
async function beginRequest(t: TestContext, service: Running, body: string) {
  const { socket, next } = await open(t, service);
  const length = Buffer.byteLength(body);
  socket.write(`POST /v1/messages HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\nContent-Length: ${length}\r\n`);
  socket.write(`\r\n${body.slice(0, 5)}`);
  return (whole: string) => {
    socket.write(whole.slice(5));
    return next();
  };
}

/** A connection that was used once and is kept. */
async function keptConnection(t: TestContext, service: Running) {
  const { socket, next } = await open(t, service);
  const send = (line: string) => {
    socket.write(`${line} HTTP/1.1\r\n${HEAD}\r\n`);
    return next();
  };
  assert.match(await send("GET /v1/messages"), /^HTTP\/1\.1 200 /);
  return send;
}

function isClosed(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => resolve(true));
    socket.on("connect", () => {
      socket.destroy();
      resolve(false);
    });
  });
}
