import assert from "node:assert/strict";
import { test } from "node:test";
import { AT, pagination, runCli, runOnTerminal, serverWith } from "../test/support/cli.ts";

const webhook = {
  id: "wh_1",
  name: null,
  url: "https://example.com/hook",
  events: ["*"],
  active: true,
  primary: true,
  standardWebhooks: true,
  isGone: false,
  previousSecretExpiresAt: null,
};

const delivery = (attempts: object[], status = "pending") => ({
  id: "dlv_1",
  eventId: "evt_1",
  eventType: "webhook.test",
  messageId: null,
  webhookId: "wh_1",
  url: webhook.url,
  status,
  attempts,
  nextAttemptAt: null,
  createdAt: AT,
});

const attempt = (status: number | null, error: string | null = null) => ({
  at: AT,
  status,
  durationMs: 12,
  response: "ok",
  error,
});

test("webhooks create, update, pause, resume and recover act on the endpoint that is named, else on the primary one", async (t) => {
  const replay = { id: "rpl_1", status: "done", deliveries: 0, made: 0, succeeded: 0, failed: 0 };
  const { env, requests } = await serverWith(t, {
    "GET /v1/webhooks": { data: webhook },
    "POST /v1/webhooks": { status: 201, data: { ...webhook, id: "wh_2", secret: "whsec_own" } },
    "PATCH /v1/webhooks/wh_1": { data: { ...webhook, active: false } },
    "PATCH /v1/webhooks/wh_2": { data: { ...webhook, id: "wh_2" } },
    "POST /v1/webhooks/wh_1/replay": { status: 202, data: replay },
  });
  const sent = async (line: string) => {
    const { code, stdout, stderr } = await runCli(line.split(" "), { env });
    assert.equal(code, 0, stderr);
    const { method, path, body } = requests.at(-1) ?? assert.fail("nothing was sent");
    return { [`${method} ${path}`]: body, id: JSON.parse(stdout).id };
  };
  assert.deepEqual(await sent("webhooks create https://example.com/x --events message.failed --name failures"), {
    "POST /v1/webhooks": { url: "https://example.com/x", events: ["message.failed"], name: "failures" },
    id: "wh_2",
  });
  assert.deepEqual(await sent("webhooks update wh_2 --to https://example.com/y"), {
    "PATCH /v1/webhooks/wh_2": { url: "https://example.com/y" },
    id: "wh_2",
  });
  assert.deepEqual(await sent("webhooks pause"), { "PATCH /v1/webhooks/wh_1": { active: false }, id: "wh_1" });
  assert.deepEqual(await sent("webhooks resume wh_2"), { "PATCH /v1/webhooks/wh_2": { active: true }, id: "wh_2" });
  assert.deepEqual(await sent("webhooks recover --since 2031-05-01T09:00:00Z"), {
    "POST /v1/webhooks/wh_1/replay": { since: "2031-05-01T09:00:00Z", only: "failed" },
    id: "rpl_1",
  });
});

test("webhooks get, set, list, delete and rotate-secret; a new secret is shown once, with a warning", async (t) => {
  const { env, requests } = await serverWith(t, {
    "GET /v1/webhooks": [{ data: null }, { data: webhook }],
    "PUT /v1/webhooks": { data: { ...webhook, secret: "whsec_new" } },
    "GET /v1/webhooks/list": {
      data: [
        webhook,
        { ...webhook, id: "wh_2", active: false, isGone: true, events: ["message.read"] },
        { ...webhook, id: "wh_3", isGone: true },
      ],
    },
    "DELETE /v1/webhooks/wh_2": { data: { id: "wh_2", deleted: true } },
    "POST /v1/webhooks/rotate-secret": [
      { data: { ...webhook, secret: "whsec_next", previousSecretExpiresAt: AT } },
      { data: { id: null, url: null, events: null, secret: "whsec_callbacks", previousSecretExpiresAt: null } },
    ],
  });
  const shown = async (line: string) => (await runOnTerminal(line.split(" "), env)).stdout;
  assert.match(await shown("webhooks get"), /No webhook is configured: tightbeam webhooks set <url>/);
  assert.match(await shown("webhooks get"), /url +https:\/\/example\.com\/hook/);
  assert.match(await shown("webhooks set https://example.com/hook"), /whsec_new[\s\S]+only time/);
  assert.deepEqual(requests.at(-1)?.body, { url: webhook.url, events: ["*"] });
  await shown(
    "webhooks set https://example.com/hook --events message.sent,message.read --events message.failed --secret s",
  );
  assert.deepEqual(requests.at(-1)?.body, {
    url: webhook.url,
    events: ["message.sent", "message.read", "message.failed"],
    secret: "s",
  });
  await shown("webhooks set https://example.com/hook --max-in-flight 8");
  assert.deepEqual(requests.at(-1)?.body, { url: webhook.url, events: ["*"], maxInFlight: 8 });
  assert.match(await shown("webhooks list"), /wh_1 +active +all[\s\S]+wh_2 +paused +1[\s\S]+wh_3 +gone +all/);
  assert.equal(await shown("webhooks delete wh_2"), "wh_2 deleted\n");
  assert.match(await shown("webhooks rotate-secret"), /whsec_next\nold secret +signs until 2031-05-01T09:00:00\.000Z/);
  assert.deepEqual(requests.at(-1)?.body, { gracePeriodSeconds: 86_400 });
  // Without a primary endpoint.
  assert.match(await shown("webhooks rotate-secret --grace 0"), /^secret +whsec_callbacks\n\nThis is the only time/);
  assert.deepEqual(requests.at(-1)?.body, { gracePeriodSeconds: 0 });
});

test("webhooks test waits for the attempt, and ends with 1 if the receiver did not accept it", async (t) => {
  const { env } = await serverWith(t, {
    "POST /v1/webhooks/test": { data: delivery([]) },
    "GET /v1/webhooks/deliveries/dlv_1": [
      { data: delivery([]) },
      { data: delivery([attempt(204)], "succeeded") },
      { data: delivery([attempt(null, "CONNECTION_REFUSED")]) },
    ],
  });
  const taken = await runOnTerminal(["webhooks", "test"], env);
  assert.deepEqual([taken.code, taken.stderr], [0, ""]);
  assert.match(taken.stdout, /status +succeeded[\s\S]+204 +12 +ok/);
  const lost = await runCli(["webhooks", "test"], { env });
  assert.equal(lost.code, 1);
  assert.equal(JSON.parse(lost.stdout).attempts.length, 1);
  assert.equal(lost.stderr, "error: DELIVERY_FAILED https://example.com/hook gave no answer: CONNECTION_REFUSED.\n");
});

test("webhooks retry waits for its own attempt, not for an earlier one", async (t) => {
  const { env } = await serverWith(t, {
    "GET /v1/webhooks/deliveries/dlv_1": [
      { data: delivery([attempt(500)]) },
      { data: delivery([attempt(500)]) },
      { data: delivery([attempt(500), attempt(200)], "succeeded") },
    ],
    "POST /v1/webhooks/deliveries/dlv_1/retry": { status: 202, data: delivery([attempt(500)]) },
  });
  const { code, stdout } = await runOnTerminal(["webhooks", "retry", "dlv_1"], env);
  assert.equal(code, 0);
  assert.match(stdout, /500[\s\S]+200/);
});

const replay = {
  ...{ id: "rpl_1", status: "running", deliveries: 3, since: AT, until: null, types: null, only: null },
  ...{ made: 0, succeeded: 0, failed: 0, startedAt: AT, endedAt: null },
};

test("webhooks replay uses the primary endpoint if none is named, and waits on a terminal until its deliveries have ended", async (t) => {
  const { env, requests } = await serverWith(t, {
    "GET /v1/webhooks": [{ data: webhook }, { data: null }],
    "POST /v1/webhooks/wh_1/replay": { status: 202, data: { id: "rpl_1", status: "running", deliveries: 3 } },
    "GET /v1/webhooks/wh_1/replay": [
      { data: { ...replay, made: 3, succeeded: 1 } },
      { data: { ...replay, made: 3, succeeded: 2, status: "done", endedAt: AT } },
      { data: { ...replay, made: 3, succeeded: 2, failed: 1, status: "done", endedAt: AT } },
    ],
  });
  const line = ["webhooks", "replay", "--since", AT, "--types", "message.read", "--failed"];
  const { stdout, stderr } = await runOnTerminal(line, env);
  assert.match(stdout, /^rpl_1 to wh_1: 3 deliveries\nrpl_1 done: 3 deliveries, 2 succeeded, 1 failed\n$/);
  assert.match(stderr, /replaying .* 33 % {2}1 of 3 deliveries/);
  const [posted, ...read] = requests.slice(1);
  assert.deepEqual(posted?.body, { since: AT, types: ["message.read"], only: "failed" });
  assert.equal(read.length, 3);
  assert.equal((await runOnTerminal(["webhooks", "replay", "--since", AT], env)).code, 2);
  const begun = Date.now();
  await runOnTerminal(["webhooks", "replay", "wh_1", "--since", "10m"], env);
  const asked = requests.findLast(({ method }) => method === "POST");
  const since = Date.parse(String(Reflect.get(Object(asked?.body), "since")));
  assert.ok(since >= begun - 600_000 && since <= Date.now() - 600_000, "ten minutes ago");
});

test("webhooks replay ends while only retries are left", async (t) => {
  const { env, requests } = await serverWith(t, {
    "POST /v1/webhooks/wh_1/replay": { status: 202, data: { id: "rpl_1", status: "running", deliveries: null } },
    "GET /v1/webhooks/wh_1/replay": { data: { ...replay, deliveries: null, made: 2, succeeded: 1, status: "done" } },
  });
  const { stdout } = await runOnTerminal(["webhooks", "replay", "wh_1", "--since", "1d"], env);
  assert.match(
    stdout,
    /^rpl_1 to wh_1: many deliveries\nrpl_1 done: 2 deliveries, 1 succeeded, 1 waiting or retried\n$/,
  );
  assert.equal(requests.length, 12);
});

test("webhooks replay-status shows the last replay, and replay-stop stops it", async (t) => {
  const { env, requests } = await serverWith(t, {
    "GET /v1/webhooks/wh_1/replay": [{ data: null }, { data: { ...replay, made: 1 } }],
    "DELETE /v1/webhooks/wh_1/replay": {
      data: { ...replay, status: "stopped", made: 3, succeeded: 1, failed: 2, endedAt: AT },
    },
  });
  const shown = async (name: string) => (await runOnTerminal(["webhooks", name, "wh_1"], env)).stdout;
  assert.equal(await shown("replay-status"), "There was no replay.\n");
  assert.equal(await shown("replay-status"), "rpl_1 running: 1 delivery, 0 succeeded, 1 waiting or retried\n");
  assert.equal(await shown("replay-stop"), "rpl_1 stopped: 3 deliveries, 1 succeeded, 2 failed\n");
  assert.equal(requests.at(-1)?.method, "DELETE");
});

test("webhooks deliveries lists by its filters, and shows one with its attempts", async (t) => {
  const { env, requests } = await serverWith(t, {
    "GET /v1/webhooks/deliveries": { data: { deliveries: [delivery([attempt(500)])], pagination } },
    "GET /v1/webhooks/deliveries/dlv_1": { data: delivery([attempt(500)]) },
  });
  const line = "webhooks deliveries --status pending --webhook wh_1 --event evt_1 --message msg_1";
  assert.match((await runOnTerminal(line.split(" "), env)).stdout, /dlv_1 +pending +webhook\.test +1 +500/);
  assert.deepEqual(requests.at(-1)?.query, {
    status: "pending",
    webhookId: "wh_1",
    eventId: "evt_1",
    messageId: "msg_1",
  });
  assert.match((await runOnTerminal(["webhooks", "deliveries", "dlv_1"], env)).stdout, /AT +RESULT +MS +RESPONSE/);
});
