import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ADMIN_KEY, emptyDirectory, KEY, runOnTerminal, serverWith } from "../test/support/cli.ts";

test("api calls any route: method, path with or without /v1, query, body from text or file, headers", async (t) => {
  const { env, requests } = await serverWith(t, {
    "GET /v1/messages": { data: { messages: [] } },
    "POST /v1/contacts/bulk": { status: 201, data: { created: 1 } },
    "DELETE /v1/messages/msg_1": { data: { id: "msg_1", deleted: true } },
    "GET /v1/admin/keys": { data: { keys: [] } },
  });
  const file = join(emptyDirectory(t), "contacts.json");
  writeFileSync(file, '\ufeff{"contacts":[]}');
  const answered = async (...args: string[]) => {
    const { code, stdout, stderr } = await runOnTerminal(["api", ...args], env);
    assert.deepEqual([code, stderr], [0, ""], args.join(" "));
    return JSON.parse(stdout);
  };
  assert.deepEqual(await answered("get", "/v1/messages?limit=5", "-q", "status=failed", "-q", "to=+1500"), {
    messages: [],
  });
  assert.deepEqual(requests[0]?.query, { limit: "5", status: "failed", to: "+1500" });
  assert.deepEqual(await answered("POST", "contacts/bulk", "-d", `@${file}`, "-H", "Idempotency-Key: mine"), {
    created: 1,
  });
  assert.deepEqual([requests[1]?.body, requests[1]?.headers["idempotency-key"]], [{ contacts: [] }, "mine"]);
  assert.deepEqual(await answered("delete", "messages/msg_1"), { id: "msg_1", deleted: true });
  assert.equal(requests[2]?.headers.authorization, `Bearer ${KEY}`);
  await answered("get", "admin/keys");
  await answered("get", "messages", "--admin");
  assert.deepEqual(
    requests.slice(3).map(({ headers }) => headers.authorization),
    Array(2).fill(`Bearer ${ADMIN_KEY}`),
  );
});

test("api refuses a malformed call before it sends anything, and shows a refusal as every command does", async (t) => {
  const { env, requests } = await serverWith(t, { "GET /v1/requests/req_1": { data: { id: "req_1" } } });
  for (const [line, reason] of [
    ["fetch /v1/messages", /fetch is no method: .*get, post/],
    ["get https://other.example/v1/messages", /is no path: name the server with --url/],
    ["post messages -d {to", /--data is not JSON/],
    ["post messages -d @/nonexistent/body.json", /cannot be read \(ENOENT\)/],
    ["get messages -q status", /key=value/],
    ["get messages -H nonsense", /Name: value/],
  ] as const) {
    const { code, stderr } = await runOnTerminal(["api", ...line.split(" ")], env);
    assert.equal(code, 2, line);
    assert.match(stderr, reason, line);
  }
  assert.equal(requests.length, 0);
  const missing = await runOnTerminal(["api", "get", "nothing"], env);
  assert.deepEqual([missing.code, missing.stdout], [1, ""]);
  assert.match(
    missing.stderr,
    /^error: NOT_FOUND .*\n {2}requestId: req_1\n {2}http:\/\/127\.0\.0\.1:\d+\/r\/req_1\n$/,
  );
});
