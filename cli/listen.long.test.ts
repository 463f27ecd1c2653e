import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { verifyWebhook } from "../sdk/signature.ts";
import type { AnyEvent } from "../sdk/wire.ts";
import { closedAddress } from "../test/support/api.ts";
import { COMMAND, emptyDirectory, envFor, KEY, runCli } from "../test/support/cli.ts";
import { spawnCommand } from "../test/support/process.ts";
import { type Receiver, startReceiver } from "../test/support/receiver.ts";
import { startTestService, type TestService } from "../test/support/service.ts";
import { until } from "../test/support/wait.ts";
import type { Forward } from "./forward.ts";

/** A line of `listen` without a terminal: an event as it is, or how forwarding one went. */
type Line = AnyEvent | { forward: Forward };

async function started(t: TestContext, env: Record<string, string> = {}): Promise<TestService> {
  const api = await startTestService(env, { inThreads: true });
  t.after(() => api.stop());
  return api;
}

async function receiving(t: TestContext): Promise<Receiver> {
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  return receiver;
}

/** A `listen` that runs, once it listens. */
async function listening(t: TestContext, env: Record<string, string>, ...args: string[]) {
  const spawned = spawnCommand(t, [...COMMAND, "listen", ...args], env);
  await until(() => spawned.output.stderr.includes("Listening to"), { what: "listen" });
  const lines = () =>
    spawned.output.stdout
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Line);
  return {
    ...spawned,
    secret: /Signed with +(\S+)/.exec(spawned.output.stderr)?.[1] ?? "",
    events: () => lines().filter((line) => "type" in line),
    forwards: () => lines().flatMap((line) => ("forward" in line ? [line.forward] : [])),
  };
}

/** Sends to 0100 and resolves when that is delivered. */
async function deliver(api: TestService, text = "Hello", more: object = {}): Promise<string> {
  const body = { to: "+15005550100", content: { text }, ...more };
  const { id } = (await api.ask("POST", "/v1/messages", { body })).data;
  await api.ask("GET", `/v1/sandbox/wait?messageId=${id}&type=message.delivered`);
  return id;
}

test("listen --forward-to posts the same bytes and headers as the service, signed correctly", async (t) => {
  const api = await started(t);
  const [own, forwarded] = [await receiving(t), await receiving(t)];
  const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  await api.ask("PUT", "/v1/webhooks", { body: { url: own.url, events: ["*"], secret } });
  const listener = await listening(t, envFor(t, api), "--forward-to", forwarded.url);
  const metadata = { 10: "a", 9: 1e21, z: -0, a: [1.5e-7, null], nested: { "\u2028": "\\\u0001" } };
  await deliver(api, "Zoë 👩‍👩‍👧 „“ \u2028\u0001 </script> \\ \t", { metadata, externalMessageId: "o/1" });
  await api.ask("POST", "/v1/sandbox/phones/+15005550199/messages", { body: { text: "hi" } });
  await until(() => own.received.length === 4 && forwarded.received.length === 4);
  for (const one of own.received) {
    const other = forwarded.received.find(({ event }) => event.id === one.event.id);
    assert.equal(other?.body, one.body);
    const names = (headers: object) => Object.keys(headers).filter((name) => name !== "connection");
    assert.deepEqual(names(other.headers).sort(), names(one.headers).sort());
    for (const name of ["content-type", "x-correlation-id", "webhook-id"]) {
      assert.equal(other.headers[name], one.headers[name], name);
    }
    assert.deepEqual(await verifyWebhook({ ...other, secret: listener.secret }), one.event);
  }
  assert.deepEqual(await listener.end("SIGINT"), { code: 0, signal: null });
  assert.match(listener.output.stderr, /4 events, 4 accepted by the receiver\.\n$/);
});

/** A way to a server that can be cut, and comes again at once. */
async function cuttable(t: TestContext, url: string): Promise<{ url: string; cut(): void }> {
  const target = new URL(url);
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    const through = connect(Number(target.port), target.hostname);
    for (const [one, other] of [
      [socket, through],
      [through, socket],
    ] as const) {
      open.add(one);
      one
        .on("error", () => {})
        .on("close", () => {
          open.delete(one);
          other.destroy();
        });
    }
    socket.pipe(through).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  t.after(() => {
    cut();
    server.close();
  });
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`, cut };
}

test("listen continues after a lost connection without a gap, even before the first event", async (t) => {
  const api = await started(t);
  const way = await cuttable(t, api.url);
  const listener = await listening(t, envFor(t, { ...api, url: way.url, key: api.key, adminKey: api.adminKey }));
  for (let round = 0; round < 3; round += 1) {
    way.cut();
    await Promise.all([deliver(api), deliver(api)]);
    // The next cut comes when it is connected again, or in the middle of that.
    await until(() => listener.events().length > round * 6);
  }
  await until(() => listener.events().length === 18);
  const { events } = (await api.ask("GET", "/v1/events?limit=100")).data as { events: AnyEvent[] };
  assert.deepEqual(
    listener.events().map(({ id }) => id),
    events.map(({ id }) => id).reverse(),
  );
  assert.deepEqual(await listener.end("SIGTERM"), { code: 0, signal: null });
  assert.match(listener.output.stderr, /CONNECTION_FAILED .*Trying again in 1 s\.[\s\S]*18 events\.\n$/);
});

test("listen retries an event that the receiver does not accept, and events resend reaches a running listen", async (t) => {
  const api = await started(t);
  const receiver = await receiving(t);
  receiver.answer = ({ event }, response) => {
    const isFirst = receiver.received.filter((one) => one.event.id === event.id).length === 1;
    response.writeHead(event.type === "message.sent" && isFirst ? 503 : 204).end();
  };
  const env = envFor(t, api);
  const listener = await listening(t, env, "--forward-to", receiver.url, "--events", "message.sent,message.delivered");
  await deliver(api);
  await until(() => listener.forwards().length === 3);
  assert.deepEqual(
    listener.forwards().map(({ eventType, attempt, status, retryInMs }) => [eventType, attempt, status, retryInMs]),
    [
      ["message.sent", 1, 503, 1_000],
      ["message.delivered", 1, 204, null],
      ["message.sent", 2, 204, null],
    ],
  );
  const [again] = receiver.received.filter(({ event }) => event.type === "message.delivered");
  const id = again?.event.id ?? "";
  const resent = await runCli(["events", "resend", id], { env });
  assert.deepEqual([resent.code, resent.stderr], [0, ""]);
  assert.deepEqual(
    JSON.parse(resent.stdout).forwards.map(({ status }: Forward) => status),
    [204],
  );
  assert.deepEqual(
    receiver.received.filter(({ event }) => event.id === id).map(({ body }) => body),
    [again?.body, again?.body],
  );
  await until(() => listener.forwards().at(-1)?.resent === true);
  assert.equal((await listener.end("SIGINT")).code, 0);
  // Nobody listens any more, and there is no endpoint.
  const alone = await runCli(["events", "resend", id], { env });
  assert.equal(alone.code, 1);
  assert.match(alone.stderr, /^error: NOBODY_THERE /);
  const there = await runCli(["events", "resend", id, "--forward-to", receiver.url], { env });
  assert.deepEqual([there.code, receiver.received.length], [0, 5]);
});

test("Ctrl-C lists the events that were not accepted, and does not wait for a receiver that hangs", async (t) => {
  const api = await started(t);
  const receiver = await receiving(t);
  receiver.answer = () => {};
  const listener = await listening(t, envFor(t, api), "--forward-to", receiver.url, "--events", "message.sent");
  await deliver(api);
  await until(() => receiver.received.length === 1);
  listener.child.kill("SIGINT");
  assert.deepEqual(await listener.end("SIGINT"), { code: 0, signal: null });
  const id = receiver.received[0]?.event.id;
  assert.match(
    listener.output.stderr,
    new RegExp(`1 event, 0 accepted by the receiver. Not accepted:\n.*resend ${id} `),
  );
});

test("the secret of listen stays the same, only its user can read it, and it can be printed", async (t) => {
  const api = await started(t);
  const env = envFor(t, api);
  const printed = await runCli(["listen", "--print-secret"], { env });
  assert.match(printed.stdout, /^whsec_[A-Za-z0-9+/]{43}=\n$/);
  const listener = await listening(t, env, "--forward-to", "http://127.0.0.1:9/hook");
  assert.equal(listener.secret, printed.stdout.trim());
  assert.equal((await listener.end("SIGINT")).code, 0);
  assert.equal(statSync(join(env.XDG_CONFIG_HOME, "tightbeam/listen-secret")).mode & 0o777, 0o600);
  const other = await listening(t, env, "--forward-to", "localhost:9", "--secret", "mine");
  assert.equal(other.secret, "mine");
  await other.end("SIGINT");
});

test("listen fails at once if no server runs, or if the key is invalid", async (t) => {
  const env = { TIGHTBEAM_URL: await closedAddress(), TIGHTBEAM_API_KEY: KEY, XDG_CONFIG_HOME: emptyDirectory(t) };
  const away = await runCli(["listen"], { env });
  assert.deepEqual([away.code, away.stdout], [1, ""]);
  assert.match(away.stderr, /^error: CONNECTION_FAILED /);
  const refused = await runCli(["listen", "--key", "tb_wrong"], { env: envFor(t, await started(t)) });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^error: UNAUTHORIZED /);
});
