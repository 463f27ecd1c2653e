/** Commands on the embedded database refuse to work while `DATABASE_URL` names PostgreSQL. */

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { emptyDirectory, runCli } from "../../test/support/cli.ts";

test("quarantine says what to do with PostgreSQL instead, in one line without the URL", async (t) => {
  const directory = emptyDirectory(t);
  const env = { DATABASE_URL: "postgres://user:hidden@db.example/tightbeam", TB_DATA_DIR: directory };
  const refused: [command: string[], line: RegExp][] = [
    [["quarantine"], /SELECT \* FROM quarantined/],
    [["quarantine", "show", "endpoints", "wh_1"], /SELECT/],
    [["quarantine", "set", "endpoints", "wh_1", "events", "[]"], /SELECT/],
    [["quarantine", "delete", "endpoints", "wh_1"], /SELECT/],
  ];
  for (const [command, line] of refused) {
    const { code, stderr } = await runCli(command, { env });
    assert.equal(code, 1, command.join(" "));
    assert.match(stderr, line);
    assert.match(stderr, /^error: DATABASE_URL is set/);
    assert.ok(stderr.trim().split("\n").length === 1 && !stderr.includes("hidden"), stderr);
  }
  assert.deepEqual(readdirSync(directory), []);
});
