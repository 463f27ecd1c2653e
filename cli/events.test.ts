import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { emptyDirectory, envFor, runCli, runOnTerminal, serverWith } from "../test/support/cli.ts";
import { startReceiver } from "../test/support/receiver.ts";
import { startTestService } from "../test/support/service.ts";
import { until } from "../test/support/wait.ts";

test("events list shows events by its filters, and events get one envelope as it was delivered", async (t) => {
  const api = await startTestService();
  t.after(() => api.stop());
  const env = envFor(t, api);
  const { id } = JSON.parse((await runOnTerminal(["trigger", "message.delivered", "--json"], env)).stdout);
  const message = (await api.ask("GET", `/v1/events/${id}`)).data.data.messageId;
  const shown = await runOnTerminal(["events", "list", "--message", message], env);
  assert.match(shown.stdout, /^AT +TYPE +ID +ABOUT\n.*message\.delivered .*\n.*message\.sent .*\n.*message\.queued /);
  const types = async (line: string) =>
    JSON.parse((await runOnTerminal(["events", "list", ...line.split(" "), "--json"], env)).stdout).map(
      ({ type }: { type: string }) => type,
    );
  assert.deepEqual(await types("--type message.sent"), ["message.sent"]);
  const [first] = JSON.parse(
    (await runOnTerminal(["events", "list", "--type", "message.queued", "--json"], env)).stdout,
  );
  assert.deepEqual(await types(`--after ${first.id} --all`), ["message.sent", "message.delivered"]);
  const one = await runCli(["events", "get", id], { env });
  assert.deepEqual(JSON.parse(one.stdout), (await api.ask("GET", `/v1/events/${id}`)).data);
});

test("events resend makes one more attempt at each active endpoint, and ends with 1 if one did not accept it", async (t) => {
  const api = await startTestService();
  t.after(() => api.stop());
  const [good, bad, gone] = [await startReceiver(), await startReceiver(), await startReceiver()];
  for (const receiver of [good, bad, gone]) t.after(() => receiver.stop());
  bad.answer = (_, response) => response.writeHead(500).end();
  const body = { events: ["message.delivered"] };
  const { id: goodId } = (await api.ask("POST", "/v1/webhooks", { body: { ...body, url: good.url } })).data;
  await api.ask("POST", "/v1/webhooks", { body: { ...body, url: bad.url } });
  const { id: goneId } = (await api.ask("POST", "/v1/webhooks", { body: { ...body, url: gone.url } })).data;
  const env = envFor(t, api);
  const { id } = JSON.parse((await runOnTerminal(["trigger", "message.delivered", "--json"], env)).stdout);
  await until(() => [good, bad, gone].every(({ received }) => received.length === 1));
  await api.ask("DELETE", `/v1/webhooks/${goneId}`);
  const arrived = async () => {
    const { deliveries } = (await api.ask("GET", `/v1/webhooks/deliveries?eventId=${id}`)).data;
    return deliveries.every(({ attempts }: { attempts: unknown[] }) => attempts.length === 1);
  };
  await until(arrived);
  const both = await runOnTerminal(["events", "resend", id, "--endpoint", goodId], env);
  assert.deepEqual([both.code, both.stderr], [0, ""]);
  assert.match(both.stdout, /^RESULT +MS +BY +URL\n200 /);
  assert.deepEqual([good.received.length, bad.received.length], [2, 1]);
  await api.ask("PATCH", `/v1/webhooks/${goodId}`, { body: { active: false } });
  const refused = await runOnTerminal(["events", "resend", id], env);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, new RegExp(`DELIVERY_FAILED ${id} was not accepted by ${bad.url}`));
  assert.deepEqual([good.received.length, bad.received.length, gone.received.length], [2, 2, 1]);
});

test("events resend ignores the socket of a killed listen, and a listen of another customer", async (t) => {
  const event = { id: "evt_1", type: "message.sent", timestamp: "2031-05-01T09:00:00.000Z", data: {} };
  const { env } = await serverWith(t, {
    "GET /v1/events/evt_1": { data: event },
    "GET /v1/webhooks/list": { data: [] },
    "GET /v1/webhooks/deliveries": { data: { deliveries: [], pagination: { hasMore: false, nextCursor: null } } },
  });
  const config = emptyDirectory(t);
  const directory = join(config, "tightbeam");
  mkdirSync(directory);
  writeFileSync(join(directory, "listen-00000000.sock"), "");
  const others = createServer((socket) => socket.end("null\n"));
  await new Promise<void>((resolve) => others.listen(join(directory, "listen-00000001.sock"), resolve));
  t.after(() => others.close());
  const { code, stderr } = await runOnTerminal(["events", "resend", "evt_1"], { ...env, XDG_CONFIG_HOME: config });
  assert.equal(code, 1);
  assert.match(stderr, /NOBODY_THERE/);
});
