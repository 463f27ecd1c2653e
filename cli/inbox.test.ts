import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { AT, runCli, runOnTerminal, serverWith } from "../test/support/cli.ts";
import { until } from "../test/support/wait.ts";
import { run } from "./main.ts";

test("inbox shows what arrived, signed or not, event or not, and inbox clear deletes it", async (t) => {
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
  assert.match(
    stdout,
    /^The sandbox's own receiver of webhooks, at http:\/\/127\.0\.0\.1:8080\/sandbox\/inbox\/x:\n\n/,
  );
  assert.match(stdout, /yes +200 +message\.sent +sent +msg_1\n.*no +401 +- +- +-/);
  assert.match((await runOnTerminal(["inbox", "--bodies"], env)).stdout, /"timestamp":"2031-05-01T09:00:00\.000Z"/);
  assert.deepEqual(JSON.parse((await runCli(["inbox"], { env })).stdout), inbox);
  assert.equal((await runOnTerminal(["inbox", "clear"], env)).stdout, "The inbox is empty.\n");
});

/** `inbox --follow` in this process, on a terminal of 80 columns or on a pipe, until `interrupt`. */
function following(env: Record<string, string>, isTTY: boolean) {
  const stdout = Object.assign(new PassThrough(), isTTY ? { isTTY, columns: 80, getColorDepth: () => 1 } : {});
  const stderr = new PassThrough();
  const text = { stdout: "", stderr: "" };
  for (const [name, stream] of Object.entries({ stdout, stderr }) as [keyof typeof text, PassThrough][]) {
    stream.setEncoding("utf8").on("data", (part: string) => {
      text[name] += part;
    });
  }
  let interrupt = () => {};
  const onInterrupt = (act: () => void) => {
    interrupt = act;
    return () => {};
  };
  const sleep = () => new Promise<void>((resolve) => setImmediate(resolve));
  const terminal = { root: "/", env, stdout, stderr, sleep, onInterrupt, outliveOutput: () => {}, ask: null };
  const ended = run(["inbox", "--follow"], "0.0.0", terminal);
  return { text, ended, interrupt: () => interrupt() };
}

for (const isTTY of [true, false]) {
  test(`inbox --follow shows each webhook once as it arrives, ${isTTY ? "a line each" : "as JSON lines"}, until Ctrl-C`, async (t) => {
    const requestOf = (at: number) => {
      const event = {
        id: `evt_${at}`,
        type: "message.sent",
        timestamp: AT,
        data: { messageId: `msg_${at}`, status: "sent" },
      };
      return {
        receivedAt: AT,
        verified: at !== 3,
        status: at === 3 ? 401 : 200,
        headers: {},
        body: JSON.stringify(event),
      };
    };
    const inbox = { url: "http://127.0.0.1:8080/sandbox/inbox/x", secret: "whsec_x", behaviour: {} };
    const looks = [[1], [1], [2, 1], "down", [4, 3, 2, 1], [5]].map((found) =>
      typeof found === "string" ? { drop: true } : { data: { ...inbox, requests: found.map(requestOf) } },
    );
    const erased = { ...requestOf(5), body: requestOf(5).body.replace("sent", "erased") };
    looks.push({ data: { ...inbox, requests: [erased] } });
    const { env, requests } = await serverWith(t, { "GET /v1/sandbox/inbox": looks });
    const { text, ended, interrupt } = following(env, isTTY);
    await until(() => requests.length > 8);
    interrupt();
    assert.equal(await ended, 0);
    assert.match(text.stderr, /^Watching the inbox of http.* Ctrl-C ends it\.\n$/);
    const lines = text.stdout.trim().split("\n");
    if (isTTY) {
      const line = (at: number, status: number, signed: string) =>
        `09:00:00.000Z  ${status}  ${signed}  message.sent  sent  msg_${at}`;
      assert.deepEqual(lines, [
        line(2, 200, "signed"),
        line(3, 401, "NOT signed"),
        line(4, 200, "signed"),
        line(5, 200, "signed"),
      ]);
    } else {
      assert.deepEqual(
        lines.map((line) => JSON.parse(line)),
        [2, 3, 4, 5].map(requestOf),
      );
    }
  });
}
