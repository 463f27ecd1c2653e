import assert from "node:assert/strict";
import { test } from "node:test";
import { ADMIN_KEY, AT, KEY, pagination, runOnTerminal, serverWith } from "../test/support/cli.ts";
import { withPath } from "./open.ts";

const LINK = `tbl_${"A".repeat(43)}`;

test("open prints a link to the record, made with the admin key, and the token stays behind the #", async (t) => {
  const { env, requests } = await serverWith(t, {
    "POST /session/links": { status: 201, data: { url: `https://tb.example/#link=${LINK}`, expiresAt: AT } },
  });
  for (const [id, path] of [
    [[], "/"],
    [["msg_1"], "/m/msg_1"],
    [["evt_1"], "/e/evt_1"],
    [["dlv_1"], "/d/dlv_1"],
    [["req_1"], "/r/req_1"],
    [["wh_1"], "/webhooks/endpoints/wh_1"],
    [["+15005550100"], "/p/%2B15005550100"],
    [["msg_/../x"], "/m/msg_%2F..%2Fx"],
  ] as const) {
    const { code, stdout } = await runOnTerminal(["open", "--print", ...id], env);
    assert.deepEqual([code, stdout.trim()], [0, `https://tb.example${path}#link=${LINK}`]);
  }
  assert.equal(requests[0]?.headers.authorization, `Bearer ${ADMIN_KEY}`);
  const { TIGHTBEAM_ADMIN_KEY: _, ...customer } = env;
  const own = await runOnTerminal(["open", "--print"], customer);
  assert.equal(own.code, 0, own.stderr);
  assert.equal(requests.at(-1)?.headers.authorization, `Bearer ${KEY}`);
  const unknown = await runOnTerminal(["open", "--print", "cust_1"], env);
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /has no page/);
});

test("a public address below a path keeps it", () => {
  assert.equal(withPath("https://a.example/tb/#link=x", "/m/msg_1"), "https://a.example/tb/m/msg_1#link=x");
});

test("sessions list and end call their routes", async (t) => {
  const session = { id: "ses_1", keyId: "key_1", createdAt: AT, lastUsedAt: AT, expiresAt: AT };
  const { env, requests } = await serverWith(t, {
    "GET /v1/admin/sessions": { data: { sessions: [session], pagination } },
    "DELETE /v1/admin/sessions/ses_1": { data: { id: "ses_1", deleted: true } },
  });
  const listed = await runOnTerminal(["sessions", "list"], env);
  assert.match(listed.stdout, /ses_1 +key_1/);
  const ended = await runOnTerminal(["sessions", "end", "ses_1"], env);
  assert.equal(ended.stdout, "ses_1 ended\n");
  assert.equal(requests.at(-1)?.headers.authorization, `Bearer ${ADMIN_KEY}`);
});
