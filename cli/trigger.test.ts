import assert from "node:assert/strict";
import { test } from "node:test";
import { TRIGGERS } from "../sdk/triggers.ts";
import { EVENT_TYPES } from "../sdk/wire.ts";
import { envFor, runOnTerminal, serverWith } from "../test/support/cli.ts";
import { startReceiver } from "../test/support/receiver.ts";
import { startTestService } from "../test/support/service.ts";

test("trigger makes each of the 30 events really happen", async (t) => {
  const api = await startTestService();
  t.after(() => api.stop());
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  await api.ask("PUT", "/v1/webhooks", { body: { url: receiver.url, events: ["*"] } });
  const env = envFor(t, api);
  assert.equal(EVENT_TYPES.length, 30);
  for (const type of EVENT_TYPES) {
    const { code, stdout, stderr } = await runOnTerminal(["trigger", type, "--json"], env);
    assert.deepEqual([code, stderr], [0, ""], type);
    const event = JSON.parse(stdout);
    assert.equal(event.type, type);
    assert.deepEqual((await api.ask("GET", `/v1/events/${event.id}`)).data, event);
  }
});

test("trigger makes a new event each time, even after the sandbox's clock was moved", async (t) => {
  const api = await startTestService();
  t.after(() => api.stop());
  const env = envFor(t, api);
  const id = async (type: string) => {
    const { code, stdout, stderr } = await runOnTerminal(["trigger", type, "--json"], env);
    assert.deepEqual([code, stderr], [0, ""]);
    return JSON.parse(stdout).id;
  };
  assert.notEqual(await id("message.scheduled"), await id("message.scheduled"));
  assert.equal((await runOnTerminal(["sandbox", "clock", "advance", "3d"], env)).code, 0);
  await id("message.scheduled");
  const shown = await runOnTerminal(["trigger", "message.failed"], env);
  assert.match(
    shown.stdout,
    /^send to \+15005550105.*\n[\d:.]+Z {2}message\.failed +evt_\S+ {2}.*NO_CHANNEL_AVAILABLE/,
  );
});

test("sandbox clock uses the admin key if the server has several customers", async (t) => {
  const api = await startTestService();
  t.after(() => api.stop());
  const env = envFor(t, api);
  await api.ask("POST", "/v1/admin/customers", { key: api.adminKey, body: { name: "Second" } });
  const advanced = await runOnTerminal(["sandbox", "clock", "advance", "1h", "--json"], env);
  assert.deepEqual([advanced.code, JSON.parse(advanced.stdout).offsetMs], [0, 3_600_000]);
});

test("trigger --list shows every type with its steps", async () => {
  const { code, stdout } = await runOnTerminal(["trigger", "--list"]);
  assert.equal(code, 0);
  for (const [type, { steps }] of Object.entries(TRIGGERS)) {
    assert.ok(
      stdout.split("\n").some((line) => line.startsWith(type) && line.includes(steps.slice(0, 40))),
      type,
    );
  }
  assert.equal((await runOnTerminal(["trigger"])).code, 2);
  const wrong = await runOnTerminal(["trigger", "message.sung"]);
  assert.deepEqual([wrong.code, wrong.stdout], [2, ""]);
});

test("trigger sends nothing for a customer with a real instance", async (t) => {
  const { env, requests } = await serverWith(t, {});
  const { code, stderr } = await runOnTerminal(["trigger", "message.sent"], env);
  assert.equal(code, 1);
  assert.match(stderr, /^error: NOT_FOUND This customer has a real instance: nothing is triggered there\./);
  assert.deepEqual(
    requests.map(({ method }) => method),
    ["GET"],
  );
});
