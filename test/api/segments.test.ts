/** Segments of an SMS over HTTP: in the record, and in the usage of the key that sent it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

test("an SMS has segments and an encoding, and the usage counts its segments", async (t) => {
  const service = await startTestService();
  t.after(() => service.stop());
  const send = async (to: string, text: string, routing?: object) => {
    const sent = await service.ask("POST", "/v1/messages", { body: { to, content: { text }, routing } });
    assert.equal(sent.status, 202);
    return until(async () => {
      const { data } = await service.ask("GET", `/v1/messages/${sent.data.id}`);
      return data.status === "delivered" ? data : null;
    });
  };
  const sms = await send("+15005550100", "{".repeat(77), { preference: ["sms"] });
  assert.deepEqual([sms.channel, sms.segments, sms.encoding], ["sms", 1, "GSM-7"]);
  const fallen = await send("+15005550102", "😀".repeat(36));
  assert.deepEqual([fallen.channel, fallen.segments, fallen.encoding], ["sms", 2, "UCS-2"]);
  const blue = await send("+15005550100", "Hello");
  assert.deepEqual([blue.channel, blue.segments, blue.encoding], ["imessage", null, null]);
  const totals = await until(async () => {
    const { data } = await service.ask("GET", "/v1/admin/usage");
    return data.totals.messagesSent === 3 ? data.totals : null;
  });
  assert.equal(totals.segments, 3);
});
