import assert from "node:assert/strict";
import { test } from "node:test";
import { runCli } from "../test/support/cli.ts";
import { isSigned, startReceiver } from "../test/support/receiver.ts";
import { startTestService } from "../test/support/service.ts";
import { until } from "../test/support/wait.ts";

test("change-secret-key reseals stored secrets, keeps them readable, and refuses while a service runs", async (t) => {
  const api = await startTestService({}, { inThreads: true });
  t.after(() => api.stop());
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  await api.ask("PUT", "/v1/webhooks", { body: { url: receiver.url, events: ["*"], secret: "s3cret" } });
  const change = () => runCli(["change-secret-key", "--tb-data-dir", api.dataDir]);
  const beside = await change();
  assert.deepEqual([beside.code, beside.stdout], [1, ""]);
  assert.match(beside.stderr, /^error: .+\n$/);
  await api.restart(async () => {
    const { code, stdout, stderr } = await change();
    assert.deepEqual([code, stderr], [0, ""]);
    const { secrets, keptInFile } = JSON.parse(stdout);
    assert.ok(secrets > 0 && keptInFile);
    return {};
  });
  await api.ask("POST", "/v1/webhooks/test");
  await until(() => receiver.received.length === 1);
  assert.ok(receiver.received[0] !== undefined && isSigned(receiver.received[0], "s3cret"));
});

test("change-secret-key without data, or with a missing file, ends with one clear line", async () => {
  const none = await runCli(["change-secret-key", "--new-key-file", "/dev/null/key"]);
  assert.deepEqual([none.code, none.stdout], [1, ""]);
  assert.match(none.stderr, /^error: .*\/dev\/null\/key cannot be read.*\n$/);
});
