import assert from "node:assert/strict";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isSigned, type Receiver, startReceiver } from "../../test/support/receiver.ts";
import { startTestService, type TestService } from "../../test/support/service.ts";
import { until } from "../../test/support/wait.ts";
import { readConfig } from "../config.ts";
import { changeSecretKey } from "./reseal.ts";

const SECRET = "a secret that receivers know";

/**
 * Starts a service that seals a secret of every kind, stops it for `work`, and checks that every secret still opens.
 */
async function resealed(t: TestContext, work: (dataDir: string) => Promise<Record<string, string>>) {
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  const service = await startTestService({}, { inThreads: true });
  t.after(() => service.stop());
  const body = { url: receiver.url, events: ["message.queued"], secret: SECRET };
  assert.equal((await service.ask("PUT", "/v1/webhooks", { body })).status, 200);
  await service.ask("POST", "/v1/admin/instances", {
    key: service.adminKey,
    body: { name: "Other", provider: "sandbox", config: {} },
  });
  await service.restart(() => work(service.dataDir));
  await sendsSigned(service, receiver);
}

async function sendsSigned(service: TestService, receiver: Receiver): Promise<void> {
  await service.ask("POST", "/v1/messages", { body: { to: "+15005550100", content: { text: "Hello" } } });
  await until(() => receiver.received.length > 0);
  const [received] = receiver.received;
  assert.ok(received !== undefined && isSigned(received, SECRET));
}

const keyOf = (dataDir: string) => readFileSync(join(dataDir, "secret.key"), "utf8");
const config = (dataDir: string) => readConfig({ TB_DATA_DIR: dataDir });

test("the new key opens everything that the old key had sealed", async (t) => {
  await resealed(t, async (dataDir) => {
    const before = keyOf(dataDir);
    const { secrets, keptInFile } = await changeSecretKey(config(dataDir), null);
    assert.ok(secrets >= 2);
    assert.ok(keptInFile);
    assert.notEqual(keyOf(dataDir), before);
    assert.ok(!existsSync(join(dataDir, "secret.key.next")));
    return {};
  });
});

test("after a crash before the commit of the resealed secrets the old key is valid, and after it the new key", async (t) => {
  await resealed(t, async (dataDir) => {
    writeFileSync(join(dataDir, "secret.key.next"), `${Buffer.alloc(32, 9).toString("base64")}\n`);
    const { secrets } = await changeSecretKey(config(dataDir), null);
    assert.ok(secrets >= 2);
    // As if it had died between the commit and the renaming.
    const before = keyOf(dataDir);
    await changeSecretKey(config(dataDir), null);
    renameSync(join(dataDir, "secret.key"), join(dataDir, "secret.key.next"));
    writeFileSync(join(dataDir, "secret.key"), before);
    return {};
  });
});

test("a key given as a setting is replaced without a key file: the next start needs the new key in TB_SECRET_KEY", async (t) => {
  const next = "ab".repeat(32);
  await resealed(t, async (dataDir) => {
    assert.deepEqual((await changeSecretKey(config(dataDir), next)).keptInFile, false);
    return { TB_SECRET_KEY: next };
  });
});

test("a wrong present key, a malformed new key and an unchanged key are refused, and change nothing", async (t) => {
  await resealed(t, async (dataDir) => {
    const before = keyOf(dataDir);
    const wrong = readConfig({ TB_DATA_DIR: dataDir, TB_SECRET_KEY: "cd".repeat(32) });
    await assert.rejects(changeSecretKey(wrong, null), /does not fit the database/);
    await assert.rejects(changeSecretKey(config(dataDir), "short"), /not 32 bytes/);
    await assert.rejects(changeSecretKey(config(dataDir), before.trim()), /the present one/);
    assert.equal(keyOf(dataDir), before);
    return {};
  });
});
