import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startApi } from "../test/support/api.ts";
import { ADMIN_KEY, AT, emptyDirectory, KEY, runCli, runOnTerminal } from "../test/support/cli.ts";

const instance = { id: "inst_1", provider: "smpp", health: "healthy", config: {}, warnings: [], updatedAt: AT };
const line = ["instances", "create", "Carrier", "--provider", "smpp", "--config", "{}"];

test("instances create shows the keys that it removes from credentials.json, only on a terminal, and only once", async (t) => {
  const dir = emptyDirectory(t);
  const path = join(dir, "credentials.json");
  const api = await startApi(t, {
    "POST /v1/admin/instances": () => {
      writeFileSync(path, JSON.stringify({ baseUrl: api.url }));
      return { status: 201, data: { ...instance, name: "Carrier", hookUrl: null } };
    },
  });
  const store = () => writeFileSync(path, JSON.stringify({ baseUrl: api.url, apiKey: KEY, adminKey: ADMIN_KEY }));
  const env = { TB_DATA_DIR: dir };
  store();
  const shown = await runOnTerminal(line, env);
  assert.equal(shown.code, 0);
  assert.match(shown.stderr, new RegExp(`TIGHTBEAM_ADMIN_KEY=${ADMIN_KEY}\n.*TIGHTBEAM_API_KEY=${KEY}\n`));
  store();
  const piped = await runCli(line, { env });
  assert.match(piped.stderr, /credentials\.json holds no keys any more/);
  assert.doesNotMatch(piped.stdout + piped.stderr, new RegExp(`${KEY}|${ADMIN_KEY}`));
  const kept = { ...env, TIGHTBEAM_ADMIN_KEY: ADMIN_KEY, TIGHTBEAM_API_KEY: KEY };
  store();
  assert.equal((await runOnTerminal(line, kept)).stderr, "");
  // A user who lost the keys learns why the file has none.
  assert.match((await runOnTerminal(["instances", "list"], env)).stderr, /holds none since the first instance that is/);
});
