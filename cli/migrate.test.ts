/** Tests of `tightbeam migrate` on a terminal and in a pipe. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openSqlite } from "../server/store/sqlite/store.ts";
import { Stage } from "../test/conformance/store-stage.ts";
import { runCli, runOnTerminal } from "../test/support/cli.ts";
import { createDatabase, startPostgres } from "../test/support/postgres.ts";

test("migrate says what was copied and what to set, and prints one JSON document in a pipe", async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), "tightbeam-migrate-"));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  const postgres = await startPostgres();
  t.after(() => postgres.stop());
  const stage = new Stage(
    await openSqlite(dataDir, (reason) => {
      throw new Error(reason);
    }),
  );
  await stage.addMessage(await stage.addCustomer());
  await stage.store.close();
  const [{ url }, other] = [await createDatabase(postgres), await createDatabase(postgres)];
  const withPassword = url.replace("postgres@", "postgres:hidden@");
  const shown = await runOnTerminal(["migrate", "--to", withPassword], { TB_DATA_DIR: dataDir });
  assert.equal(shown.code, 0, shown.stderr);
  assert.match(shown.stdout, /^The copy of .+ is complete \(.+\), and each table equals its source\./);
  assert.match(shown.stdout, /^ *customers +1 rows, checksum [0-9a-f]{16}$/m);
  assert.match(shown.stdout, new RegExp(`set DATABASE_URL to ${url}`));
  assert.ok(!shown.stdout.includes("hidden"));
  const piped = await runCli(["migrate", "--to", other.url, "--tb-data-dir", dataDir], { env: {} });
  assert.deepEqual([piped.code, piped.stderr], [0, ""]);
  const { tables } = JSON.parse(piped.stdout) as { tables: { table: string; rows: number }[] };
  assert.equal(tables.find(({ table }) => table === "messages")?.rows, 1);
  const missing = await runCli(["migrate"], { env: {} });
  assert.equal(missing.code, 2);
});
