/** The client that a service from the sources serves: packed at its start, once for the same sources. */

import assert from "node:assert/strict";
import { appendFileSync, cpSync, existsSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { emptyDirectory } from "../test/support/cli.ts";
import { startProcess } from "../test/support/process.ts";
import { until } from "../test/support/wait.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** The parts that the service runs. Without the sources of the console there is none to build. */
const PARTS = ["cli", "contract", "sdk", "server", "package.json", "package-lock.json"];

test("a start packs the client before anybody asks for /sdk.tgz, with the same bytes each time, and anew only if a source changed", async (t) => {
  const root = emptyDirectory(t);
  for (const part of PARTS) cpSync(join(ROOT, part), join(root, part), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
  const tarball = join(root, "dist/sdk.tgz");
  const packedFrom = join(root, "dist/.sdk-packed-from");
  const start = () =>
    startProcess(t, { dataDir: join(root, "data"), program: [process.execPath, join(root, "cli/bin.js"), "serve"] });
  const first = await start();
  await until(() => existsSync(packedFrom), { what: "the packed client" });
  const [bytes, { mtimeMs }] = [readFileSync(tarball), statSync(tarball)];
  const served = await fetch(`${first.url}/sdk.tgz`);
  assert.deepEqual(Buffer.from(await served.arrayBuffer()), bytes);
  await first.end("SIGTERM");
  const second = await start();
  const again = await fetch(`${second.url}/sdk.tgz`);
  assert.deepEqual(Buffer.from(await again.arrayBuffer()), bytes);
  assert.equal(again.headers.get("etag"), served.headers.get("etag"));
  assert.equal(statSync(tarball).mtimeMs, mtimeMs, "it was not packed a second time");
  await second.end("SIGTERM");
  const before = readFileSync(packedFrom, "utf8");
  // A comment: the code of the package stays the same.
  appendFileSync(join(root, "sdk/retry.ts"), "\n// A comment.\n");
  await start();
  await until(() => readFileSync(packedFrom, "utf8") !== before, { what: "the client packed anew" });
});
