/** `npm run smoke` itself: its output for a working server, and for a failing one. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { startTestService } from "../support/service.ts";

const SMOKE = fileURLToPath(new URL("../support/smoke.ts", import.meta.url));

function smoke(env: Record<string, string>): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [SMOKE], { env, cwd: "/", stdio: ["ignore", "pipe", "pipe"] });
    const said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => {
        said[name] += text;
      });
    }
    child.on("close", (code) => resolve({ code, ...said }));
  });
}

test("smoke follows a message from a new key to a verified webhook, and leaves no key, endpoint or message", async (t) => {
  const service = await startTestService({}, { inThreads: true });
  t.after(() => service.stop());
  const { code, stdout, stderr } = await smoke({
    TIGHTBEAM_URL: service.url,
    TIGHTBEAM_API_KEY: service.key,
    TIGHTBEAM_ADMIN_KEY: service.adminKey,
  });
  assert.deepEqual([code, stderr], [0, ""], stdout);
  assert.match(stdout, /^ok: message\.queued, message\.sent, message\.delivered arrived, each rightly signed$/m);
  assert.deepEqual((await service.ask("GET", "/v1/webhooks/list")).data, []);
  assert.deepEqual((await service.ask("GET", "/v1/messages")).data.messages, []);
  const { keys } = (await service.ask("GET", "/v1/admin/keys", { key: service.adminKey })).data;
  const names = (keys as { name: string; revokedAt: string | null }[]).filter(({ revokedAt }) => revokedAt === null);
  assert.deepEqual(names.map(({ name }) => name).sort(), ["Admin key", "First key"]);
});

test("smoke says in one line what is wrong, and ends with 1, when there is no server or no key", async () => {
  const service = await startTestService();
  const { url } = service;
  const wrong = await smoke({
    TIGHTBEAM_URL: url,
    TIGHTBEAM_API_KEY: `tb_${"x".repeat(36)}`,
    TIGHTBEAM_ADMIN_KEY: "-",
  });
  await service.stop();
  assert.deepEqual([wrong.code, wrong.stdout], [1, `ok: ${url} is ready\n`]);
  assert.match(wrong.stderr, /^error: UNAUTHORIZED /);
  const keys = { TIGHTBEAM_API_KEY: service.key, TIGHTBEAM_ADMIN_KEY: service.adminKey };
  const away = await smoke({ TIGHTBEAM_URL: url, ...keys });
  assert.deepEqual([away.code, away.stdout], [1, ""]);
  assert.match(away.stderr, /^error: http:\S+ does not answer: start the server[^\n]*\n$/);
  const keyless = await smoke({ TIGHTBEAM_URL: url });
  assert.deepEqual([keyless.code, keyless.stdout], [1, ""]);
  assert.match(keyless.stderr, /^error: no key for http:[^\n]*\n$/);
});
