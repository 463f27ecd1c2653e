/** Projects with the runner of tests in them, for the tests of the runner. */

import { execFile } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL("./", import.meta.url));

/** A project of these files with the runner in it. Returns its directory. */
export function makeProject(t: TestContext, files: Record<string, string>): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "tightbeam-run-")));
  t.after(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, "test/support"), { recursive: true });
  for (const name of ["run.ts", "group.ts", "untracked-promises.ts", "postgres.ts", "free-port.ts"])
    copyFileSync(join(HERE, name), join(root, "test/support", name));
  writeFileSync(join(root, "package.json"), '{"type":"module"}');
  for (const [name, source] of Object.entries(files)) {
    mkdirSync(join(root, name, ".."), { recursive: true });
    writeFileSync(join(root, name), source);
  }
  return root;
}

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs the runner of a project; the environment is that of a machine outside of any other run. */
export function runIn(root: string, env: Record<string, string> = {}, args: readonly string[] = []) {
  const options = { env: { PATH: process.env.PATH ?? "", ...env }, cwd: tmpdir() };
  let end: (ended: Ended) => void = () => {};
  const ended = new Promise<Ended>((resolve) => {
    end = resolve;
  });
  const runner = execFile(process.execPath, [join(root, "test/support/run.ts"), ...args], options, (error, ...output) =>
    end({ code: error === null ? 0 : Number(error.code), stdout: output[0], stderr: output[1] }),
  );
  return { runner, ended };
}

/** A project of two files that use PostgreSQL and do some `work` then; `servers` are the directories of servers that it has started. */
export function makePostgresProject(t: TestContext, work: string) {
  const source = `import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import test from "node:test";
import pg from "pg";
import { createDatabase, sharedPostgres } from "./test/support/postgres.ts";
test("works", async (t) => {
  const server = await sharedPostgres();
  t.after(() => server.stop());
  t.diagnostic(server.urlOf("x"));
  const { url, drop } = await createDatabase(server);
  const client = new pg.Client({ connectionString: url });
  const lost = new Promise((resolve) => client.once("error", resolve));
  await client.connect();
  ${work}
  await client.end();
  await drop();
});
`;
  const root = makeProject(t, { "a.test.ts": source, "b.test.ts": source });
  symlinkSync(join(HERE, "../../node_modules"), join(root, "node_modules"));
  chmodSync(root, 0o755);
  const temporary = join(root, "tmp");
  mkdirSync(temporary);
  chmodSync(temporary, 0o755);
  const servers = () => readdirSync(temporary).filter((name) => name.startsWith("tightbeam-postgres"));
  return { root, env: { TMPDIR: temporary, ROOT: root }, servers };
}
