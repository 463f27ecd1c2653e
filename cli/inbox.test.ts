import assert from "node:assert/strict";
import { test } from "node:test";
import { AT, runCli, runOnTerminal, serverWith } from "../test/support/cli.ts";

test("contract 7: inbox shows what arrived, signed or not, event or not, and clear forgets it", async (t) => {
  const event = { id: "evt_1", type: "message.sent", timestamp: AT, data: { messageId: "msg_1", status: "sent" } };
  const request = { receivedAt: AT, verified: true, status: 200, headers: {}, body: JSON.stringify(event) };
  const inbox = {
    url: "http://127.0.0.1:8080/sandbox/inbox/x",
    secret: "whsec_x",
    behaviour: { status: 200, delayMs: 0, failFirst: 0 },
    requests: [request, { ...request, verified: false, status: 401, body: "garbage" }],
  };
  const { env } = await serverWith(t, {
    "GET /v1/sandbox/inbox": { data: inbox },
    "DELETE /v1/sandbox/inbox": { data: { ...inbox, requests: [] } },
  });
  const { stdout } = await runOnTerminal(["inbox"], env);
  assert.match(stdout, /yes +200 +message\.sent +sent +msg_1\n.*no +401 +- +- +-/);
  assert.match((await runOnTerminal(["inbox", "--bodies"], env)).stdout, /"timestamp":"2031-05-01T09:00:00\.000Z"/);
  assert.deepEqual(JSON.parse((await runCli(["inbox"], { env })).stdout), inbox);
  assert.equal((await runOnTerminal(["inbox", "clear"], env)).stdout, "The inbox is empty.\n");
});
