import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startApi } from "../test/support/api.ts";
import { ADMIN_KEY, AT, emptyDirectory, KEY, runCli, runOnTerminal } from "../test/support/cli.ts";

const instance = {
  id: "inst_1",
  provider: "smpp",
  health: "healthy",
  config: {},
  warnings: [],
  lastEventAt: null,
  updatedAt: AT,
};
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

test("instances list and get show how long ago the last event was, or that there was none yet", async (t) => {
  const lastEventAt = new Date(Date.now() - 190_000).toISOString();
  const found = [
    { ...instance, name: "Carrier", lastEventAt, hookUrl: null },
    { ...instance, id: "inst_2", name: "New", hookUrl: null },
  ];
  const pagination = { hasMore: false, nextCursor: null };
  const api = await startApi(t, {
    "GET /v1/admin/instances": { data: { instances: found, pagination } },
    "GET /v1/admin/instances/inst_1": { data: found[0] },
    "GET /v1/admin/instances/inst_2": { data: found[1] },
  });
  const shown = async (...args: string[]) => {
    const env = { TIGHTBEAM_URL: api.url, TIGHTBEAM_ADMIN_KEY: ADMIN_KEY };
    return (await runOnTerminal(["instances", ...args], env)).stdout;
  };
  const listed = await shown("list");
  assert.match(listed, /LAST EVENT/);
  assert.match(listed, /inst_1 .* 3 min ago +Carrier/);
  assert.match(listed, /inst_2 .* - +New/);
  assert.match(await shown("get", "inst_1"), new RegExp(`lastEvent +3 min ago \\(${lastEventAt}\\)\n`));
  assert.match(await shown("get", "inst_2"), /lastEvent +none yet\n/);
});
