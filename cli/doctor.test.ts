import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import { openPostgres } from "../server/store/postgres/store.ts";
import { NOW, Stage } from "../test/conformance/store-stage.ts";
import { closedAddress } from "../test/support/api.ts";
import { type CliResult, envFor, KEY, pagination, runCli, runOnTerminal, serverWith } from "../test/support/cli.ts";
import { createDatabase, sharedPostgres } from "../test/support/postgres.ts";
import { startReceiver } from "../test/support/receiver.ts";
import { startTestService } from "../test/support/service.ts";
import { until } from "../test/support/wait.ts";
import type { CheckResult } from "./check-result.ts";

async function examined(env: Record<string, string>, ...args: string[]) {
  return readResult(await runOnTerminal(["doctor", ...args, "--json"], env));
}

function readResult({ code, stdout, stderr }: CliResult) {
  const results = JSON.parse(stdout) as CheckResult[];
  return { code, stderr, of: (check: string) => results.filter((result) => result.check === check) };
}

test("doctor passes a healthy service, names server, key and customer, and ends with 0", async (t) => {
  const api = await startTestService({ TB_RATE_LIMIT: "100/60s", TB_SANDBOX_INBOX: "on" });
  t.after(() => api.stop());
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  await api.ask("PUT", "/v1/webhooks", { body: { url: receiver.url, events: ["*"] } });
  const env = envFor(t, api);
  await runOnTerminal(["webhooks", "test"], env);
  // A program of its own, whose output is a pipe, prints JSON without being asked to.
  const { code, stderr, of } = readResult(await runCli(["doctor"], { env }));
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(of("server")[0]?.found ?? "", new RegExp(`^${api.url} answers \\(address from TIGHTBEAM_URL\\)`));
  assert.match(of("key")[0]?.found ?? "", /scope messages, of .+ \(cust_.+\) \(from TIGHTBEAM_API_KEY\)$/);
  assert.match(of("rate limit")[0]?.found ?? "", /^\d+ of 100 requests left until /);
  assert.match(of("deliveries")[0]?.found ?? "", /accepted the last 1$/);
  for (const check of ["clock", "health", "numbers", "webhooks", "deliveries", "public address", "instances"]) {
    assert.deepEqual(
      of(check).map(({ state }) => state),
      ["ok"],
      check,
    );
  }
  const shown = await runOnTerminal(["doctor", "--url", `${api.url}/`], env);
  assert.match(shown.stdout, /^✔ server {10}http/);
  assert.match(shown.stdout, /! version.*\n +→ Update the older one/);
});

test("doctor says why deliveries fail, what to do, and ends with 1", async (t) => {
  const api = await startTestService();
  t.after(() => api.stop());
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  receiver.answer = (_, response) => response.writeHead(401).end();
  await api.ask("PUT", "/v1/webhooks", { body: { url: receiver.url, events: ["*"] } });
  await api.ask("POST", "/v1/webhooks", { body: { url: "https://example.com/hook", events: ["message.deleted"] } });
  const env = envFor(t, api);
  assert.equal((await runOnTerminal(["webhooks", "test"], env)).code, 1);
  const { code, stderr, of } = await examined({ ...env, TIGHTBEAM_ADMIN_KEY: "" });
  assert.deepEqual([code, stderr], [1, "error: deliveries: see what to do above.\n"]);
  const [failing] = of("deliveries");
  assert.equal(failing?.state, "broken");
  assert.match(
    failing?.found ?? "",
    /1 of the last 1 to http.* have not arrived; the last answer was 401, next try at 20/,
  );
  assert.match(failing?.advice ?? "", /verify with this endpoint's secret\? See http:\/\/127\.0\.0\.1:\d+\/d\/dlv_/);
  assert.deepEqual(
    of("instances").map(({ state }) => state),
    ["warning"],
  );
  // The delivery is retried by hand: what is left to do is no longer a fault of the receiver.
  receiver.answer = (_, response) => response.end();
  const [delivery] = (await api.ask("GET", "/v1/webhooks/deliveries")).data.deliveries;
  await runOnTerminal(["webhooks", "retry", delivery.id], env);
  await until(async () => (await examined(env)).code === 0);
});

test("doctor warns of an endpoint that answered ten webhooks in a row with 410, and says what to do", async (t) => {
  const api = await startTestService();
  t.after(() => api.stop());
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  receiver.answer = (_, response) => response.writeHead(410).end();
  const { data } = await api.ask("PUT", "/v1/webhooks", { body: { url: receiver.url, events: ["*"] } });
  for (let count = 0; count < 10; count += 1) await api.ask("POST", "/v1/webhooks/test", { body: {} });
  await until(async () => (await api.ask("GET", "/v1/webhooks")).data.isGone);
  const { of } = await examined(envFor(t, api));
  const [endpoint] = of("webhooks");
  assert.equal(endpoint?.state, "warning");
  assert.equal(endpoint?.found, `${receiver.url} answered ten webhooks in a row with 410 (${data.id})`);
  assert.match(
    endpoint?.advice ?? "",
    new RegExp(`tightbeam webhooks update ${data.id} --to <url>.* tightbeam webhooks delete ${data.id}$`),
  );
  assert.match(of("deliveries")[0]?.advice ?? "", /^The receiver says that it is gone/);
  assert.equal(of("health")[0]?.state, "ok", "the service is well");
});

test("doctor warns of links that a receiver elsewhere could not open, and of having no webhook", async (t) => {
  const api = await startTestService({ TB_SANDBOX_INBOX: "on" });
  t.after(() => api.stop());
  const env = envFor(t, api);
  assert.match((await examined(env)).of("webhooks")[0]?.advice ?? "", /tightbeam webhooks set <url>/);
  await api.ask("POST", "/v1/webhooks", { body: { url: "https://example.com/hook", events: ["message.deleted"] } });
  const found = await examined(env);
  assert.match(found.of("webhooks")[0]?.found ?? "", /gets 1 type of events$/);
  const [link] = found.of("public address");
  assert.equal(link?.state, "warning");
  assert.match(link?.advice ?? "", /TB_PUBLIC_URL/);
});

test("doctor reports at once that no server listens, that it is another server, or that the key is invalid", async (t) => {
  const away = await examined({ TIGHTBEAM_URL: await closedAddress(), TIGHTBEAM_API_KEY: KEY });
  assert.equal(away.code, 1);
  assert.match(away.of("server")[0]?.found ?? "", /does not answer: ECONNREFUSED/);
  const other = await serverWith(t, {});
  assert.match((await examined(other.env)).of("server")[0]?.found ?? "", /answers, but not as this service does/);
  const api = await startTestService();
  t.after(() => api.stop());
  const wrong = await examined({ TIGHTBEAM_URL: api.url, TIGHTBEAM_API_KEY: KEY });
  assert.match(wrong.of("key")[0]?.found ?? "", /^UNAUTHORIZED /);
  const none = await examined({ TIGHTBEAM_URL: api.url });
  assert.deepEqual([none.code, none.of("key")[0]?.state], [1, "broken"]);
  const admin = await examined({ TIGHTBEAM_URL: api.url }, "--key", api.adminKey);
  assert.match(admin.of("key")[0]?.found ?? "", /^it is an admin key \(from --key\)/);
});

test("doctor compares the clocks, and says what is degraded and how much of the rate limit is left", async (t) => {
  const headers = { Date: new Date(Date.now() - 400_000).toUTCString() };
  const degraded = { database: { status: "degraded", message: "the disk is full" } };
  const carrier = { provider: "smpp", health: "healthy", warnings: [] };
  const limit = { "X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "4", "X-RateLimit-Reset": "1935478800" };
  const { env } = await serverWith(t, {
    "GET /health": { headers, raw: JSON.stringify({ status: "degraded", timestamp: "", checks: degraded }) },
    "GET /v1/numbers": { data: [] },
    "GET /v1/admin/usage": { headers: limit, data: { key: null } },
    "GET /v1/webhooks/list": { data: [] },
    "GET /v1/webhooks/deliveries": { data: { deliveries: [], pagination } },
    "GET /v1/messages": { data: { messages: [], pagination } },
    "GET /v1/admin/instances": {
      data: {
        instances: [
          { id: "inst_1", name: "Mac", provider: "bluebubbles", health: "degraded", warnings: ["Update it."] },
          { id: "inst_2", name: "Quiet", ...carrier, lastEventAt: new Date(Date.now() - 7_300_000).toISOString() },
          { id: "inst_3", name: "New", ...carrier, lastEventAt: null },
        ],
        pagination,
      },
    },
    "GET /v1/admin/customers": { data: { customers: [], pagination } },
  });
  const { code, of } = await examined(env);
  assert.equal(code, 1);
  assert.match(of("clock")[0]?.found ?? "", /^this machine's is (399|40\d) s ahead of the server's$/);
  assert.match(of("health")[0]?.found ?? "", /^database is degraded: the disk is full$/);
  assert.deepEqual(
    of("rate limit").map(({ state }) => state),
    ["warning"],
  );
  assert.deepEqual(
    of("numbers").map(({ state }) => state),
    ["broken"],
  );
  assert.deepEqual(
    of("instances").map(({ found }) => found),
    [
      // A server of an earlier version does not tell the last event.
      "Mac (bluebubbles) is degraded",
      "Mac: Update it.",
      "Quiet (smpp) is healthy, last event 2 h ago",
      "New (smpp) is healthy, and has sent no event yet",
    ],
  );
});

test("doctor warns of a signing secret under 16 characters, of the primary and of another endpoint", async (t) => {
  const api = await startTestService();
  t.after(() => api.stop());
  const url = "http://127.0.0.1:9/hook";
  const configured = { url, events: ["*"], secret: "short" };
  await api.ask("PUT", "/v1/webhooks", { body: configured });
  await api.ask("POST", "/v1/webhooks", { body: { url, events: ["message.sent"], secret: "0123456789abcdef" } });
  const weak = await api.ask("POST", "/v1/webhooks", { body: { url, events: ["message.read"], secret: "shorter" } });
  const { of } = await examined(envFor(t, api));
  const found = of("customers").map(({ state, found: text }) => [state, text.replace(/^.*?: /, "")]);
  const words = (which: string, length: number) =>
    `The signing secret of ${which} has ${length} characters and can be guessed: rotate it, or set one of at least 16.`;
  assert.deepEqual(found, [
    ["warning", words("the primary endpoint and every callbackUrl", 5)],
    ["warning", words(`the endpoint ${weak.data.id}`, 7)],
  ]);
});

test("doctor warns of a signing secret that begins with whsec_ and makes no signature of Standard Webhooks", async (t) => {
  const api = await startTestService();
  t.after(() => api.stop());
  const url = "http://127.0.0.1:9/hook";
  const secrets = ["whsec_not-a-key-of-24-bytes", "a plain secret of its own", `whsec_${"A".repeat(32)}`];
  const types = ["message.sent", "message.read", "message.failed"];
  const ids: string[] = [];
  for (const [index, secret] of secrets.entries()) {
    const made = await api.ask("POST", "/v1/webhooks", { body: { url, events: [types[index]], secret } });
    ids.push(made.data.id);
  }
  const { of } = await examined(envFor(t, api));
  assert.deepEqual(
    of("customers").map(({ state, found }) => [state, found.replace(/^.*?: /, "")]),
    [
      [
        "warning",
        `The signing secret of the endpoint ${ids[0]} begins with whsec_, but base64 of 24 to 64 bytes does not follow: its webhooks have X-Signature, and no webhook-signature. Rotate it, or set another.`,
      ],
    ],
  );
});

test("doctor reports in words why each real instance does not work, and that a number has no route for its SMS", async (t) => {
  const api = await startTestService();
  t.after(() => api.stop());
  const admin = { key: api.adminKey };
  const port = Number(new URL(await closedAddress()).port);
  const instances = {
    smpp: { host: "127.0.0.1", port, systemId: "tightbeam", password: "secret", bindMode: "transceiver" },
    bluebubbles: { url: `http://127.0.0.1:${port}`, password: "secret", ingest: "socket" },
    twilio: { accountSid: `AC${"0".repeat(32)}`, authToken: "secret", baseUrl: `http://127.0.0.1:${port}` },
  };
  const ids = new Map<string, string>();
  for (const [provider, config] of Object.entries(instances)) {
    const made = await api.ask("POST", "/v1/admin/instances", { ...admin, body: { name: provider, provider, config } });
    ids.set(provider, made.data.id);
  }
  const [customer] = (await api.ask("GET", "/v1/admin/customers", admin)).data.customers;
  const body = { phoneNumber: "+15005550007", provider: "bluebubbles" };
  await api.ask("POST", `/v1/admin/customers/${customer.id}/numbers`, { ...admin, body });
  const env = { ...envFor(t, api), TIGHTBEAM_API_KEY: api.key, TIGHTBEAM_ADMIN_KEY: api.adminKey };
  const found = await until(
    async () => {
      const { code, of } = await examined(env);
      const broken = of("instances").filter(({ state }) => state === "broken");
      return code === 1 && broken.length === 3 ? of("instances") : null;
    },
    { limitMs: 60_000 },
  );
  for (const provider of Object.keys(instances)) {
    const words = found.filter((result) => result.found.startsWith(`${provider}: `));
    assert.match(words.map((result) => result.found).join("\n"), /refuse/i, provider);
    for (const { advice } of words) assert.match(advice ?? "", new RegExp(`docs/providers/${provider}\\.md`));
  }
  for (const result of found) assert.doesNotMatch(JSON.stringify(result), /secret/);
  const { stderr, of } = await examined(env);
  assert.match(stderr, /^error: (?!.*instances, instances).*\binstances: see what to do above\.\n$/);
  // Instances that are listed by name are not listed again by id.
  assert.deepEqual(
    of("health").map(({ found }) => found),
    ["2 parts of the server, all well"],
  );
  const [onSandbox] = of("numbers").filter(({ state }) => state === "warning");
  assert.match(onSandbox?.found ?? "", /name no sender go to the sandbox, by \+15005550001, and reach nobody$/);
  assert.match(onSandbox?.advice ?? "", /customers default-number \+15005550007 --customer cust_/);
  const [route] = of("routes");
  assert.match(route?.found ?? "", /^SMS from \+15005550007 of .+ goes by the Mac: there is no route$/);
  assert.match(route?.advice ?? "", /tightbeam routes set '\+=inst_/);
});

test("doctor with DATABASE_URL says whether everything that is due has a row in its queue", async (t) => {
  const postgres = await sharedPostgres();
  t.after(() => postgres.stop());
  const { url } = await createDatabase(postgres);
  const stage = new Stage(await openPostgres(url, "member_1"));
  t.after(() => stage.store.close());
  const api = await startTestService();
  t.after(() => api.stop());
  const message = await stage.addMessage(await stage.addCustomer(), { dueAt: NOW });
  const env = { ...envFor(t, api), DATABASE_URL: url };
  const well = await examined(env);
  assert.deepEqual(
    well.of("queues").map(({ state }) => state),
    ["ok", "ok"],
  );
  await sql`delete from due_messages`.execute(stage.store.db);
  const [ill] = (await examined(env)).of("queues");
  assert.equal(ill?.state, "broken");
  assert.match(ill?.found ?? "", new RegExp(`^messages: 1 due without a row .* \\(${message.id}\\)$`));
  const [away] = (await examined({ ...env, DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" })).of("queues");
  assert.equal(away?.state, "warning");
});
