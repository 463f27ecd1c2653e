import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { WireRow } from "../sdk/wire-rows.ts";
import { COMMAND, envFor } from "../test/support/cli.ts";
import { spawnCommand } from "../test/support/process.ts";
import { startTestService } from "../test/support/service.ts";
import { until } from "../test/support/wait.ts";
import { clockDividers, freshRows, wireLine } from "./wire.ts";

const AT = Date.UTC(2031, 4, 1, 9);
const row = (more: Partial<WireRow>): WireRow => ({
  ...{
    key: "attempt dlv_1",
    at: AT,
    shiftMs: 0,
    sinceMs: null,
    direction: "out",
    kind: "attempt",
    title: "POST a.example",
  },
  ...{ status: "503", tone: "warn", ids: { message: "msg_1" }, detail: "message.sent, 3 ms", ...more },
});

test("rows are given once, a retry each time that it is planned, with the milliseconds since the row before", () => {
  const fresh = freshRows();
  const retry = { key: "retry dlv_1", kind: "retry" as const };
  const given = [
    ...fresh([row({}), row({ ...retry, at: AT + 30_000 })]),
    ...fresh([row({}), row({ key: "attempt dlv_1 2", at: AT + 31_000 }), row({ ...retry, at: AT + 90_000 })]),
  ];
  assert.deepEqual(
    given.map(({ key, sinceMs }) => [key, sinceMs]),
    [
      ["attempt dlv_1", null],
      ["retry dlv_1", 30_000],
      ["attempt dlv_1 2", 31_000],
      ["retry dlv_1", 59_000],
    ],
  );
});

test("a line has time, direction, status, subject and why, and fits the terminal", () => {
  const plain = (_: unknown, text: string) => text;
  const line = wireLine(row({ sinceMs: 12 }), plain, 200);
  assert.match(line, /^ +\+12 ms ← 503 +POST a\.example +msg_1 {2}message\.sent, 3 ms$/);
  assert.match(wireLine(row({ kind: "retry", status: "due" }), plain, 200), /^at 09:00:00Z ← due /);
  assert.match(
    wireLine(row({ shiftMs: 5_399_400 }), plain, 200),
    / msg_1 {2}clock \+1 h 30 min {2}message\.sent, 3 ms$/,
  );
  const narrow = wireLine(row({ detail: "a long reason ".repeat(20), sinceMs: 1 }), plain, 80);
  assert.ok(narrow.length <= 80, narrow);
});

test("a divider stands before the first row after the sandbox's clock was set, and none before a planned retry", () => {
  const dividerBefore = clockDividers();
  const hour = 3_600_000;
  const rows = [
    row({}),
    row({ shiftMs: hour, kind: "retry" }),
    row({ shiftMs: hour }),
    row({ shiftMs: hour + 900 }),
    row({ shiftMs: 2 * hour }),
    row({}),
  ];
  assert.deepEqual(rows.map(dividerBefore), [
    null,
    null,
    "--- The clock is 1 h ahead ---",
    null,
    "--- The clock is 2 h ahead ---",
    "--- The clock shows real time ---",
  ]);
});

test("wire prints JSON rows of a message from its request to its end, the request first", async (t: TestContext) => {
  const api = await startTestService();
  t.after(() => api.stop());
  const spawned = spawnCommand(t, [...COMMAND, "wire"], envFor(t, api));
  await until(() => spawned.output.stderr.includes("On the wire of"), { what: "wire" });
  const rows = () =>
    spawned.output.stdout
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as WireRow);
  const isThere = (title: string) => rows().some((each) => each.title === title);
  // The stream is open once its own first request, or a message's event, is told.
  await until(
    async () => {
      if (isThere("message.delivered")) return true;
      await api.ask("POST", "/v1/messages", { body: { to: "+15005550100", content: { text: "Hello" } } });
      return false;
    },
    { what: "a delivered message on the wire", limitMs: 60_000 },
  );
  await until(() => isThere("POST /v1/messages"), { what: "the request on the wire" });
  assert.ok(rows().every(({ key, at }) => typeof key === "string" && typeof at === "number"));
});
