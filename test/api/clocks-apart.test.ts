/** Processes on one database whose clocks are apart: the webhooks of a message come in the order of its events, whichever process made each. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { JumpClock } from "../support/jump-clock.ts";
import { startReceiver } from "../support/receiver.ts";
import { startTestService } from "../support/service.ts";
import { serviceDatabase, sharedPreparedPostgres } from "../support/service-database.ts";
import { until } from "../support/wait.ts";

const KEY = `tb_${"p".repeat(36)}`;
const ENV = { TB_API_KEY: KEY, TB_SECRET_KEY: Buffer.alloc(32, 7).toString("base64"), TB_SANDBOX_INBOX: "off" };
/** More than processes differ that have just asked the database for the time. */
const AHEAD_MS = 400;
const MESSAGES = 5;

test("the end of a schedule arrives after its begin, also if the process that cancelled it has a clock that is behind", async () => {
  await using ends = new AsyncDisposableStack();
  const shared = await serviceDatabase("", await sharedPreparedPostgres());
  ends.defer(() => shared.drop());
  const receiver = await startReceiver();
  ends.defer(() => receiver.stop());
  const start = async (role: string, aheadMs: number) => {
    const clock = new JumpClock();
    clock.jump(aheadMs);
    const env = { ...ENV, TB_ROLE: role, ...(role === "api" ? {} : { TB_PUBLIC_URL: "http://127.0.0.1:1" }) };
    const service = await startTestService(env, { shared, clock: (shift) => clock.clock(shift) });
    ends.defer(() => service.stop());
    return service;
  };
  const [ahead, behind] = [await start("api", AHEAD_MS), await start("api", 0)];
  const { status } = await ahead.ask("PUT", "/v1/webhooks", { body: { url: receiver.url, events: ["*"] } });
  assert.equal(status, 200);
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  for (let message = 0; message < MESSAGES; message += 1) {
    const body = { to: "+15005550100", content: { text: "Later" }, scheduledAt };
    const { data } = await ahead.ask("POST", "/v1/messages", { body });
    const cancelled = await behind.ask("DELETE", `/v1/messages/${data.id}/schedule`);
    assert.equal(cancelled.status, 200, JSON.stringify(cancelled.error));
  }
  await start("worker", 0);
  await until(() => receiver.received.length >= 2 * MESSAGES, { what: "the webhooks" });
  const sequences = Map.groupBy(receiver.received, ({ event }) => event.data.messageId);
  for (const [id, received] of sequences)
    assert.deepEqual(
      received.map(({ event }) => event.type),
      ["message.scheduled", "message.schedule_cancelled"],
      String(id),
    );
});
