/** Data directories that cannot be made: the start says so in one line. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { platform, tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const BIN = fileURLToPath(new URL("../../cli/bin.js", import.meta.url));
/** A start that hangs is ended. */
const TIMEOUT_MS = 60_000;

const scratch = mkdtempSync(join(tmpdir(), "tightbeam-data-"));
test.after(() => rmSync(scratch, { recursive: true }));
writeFileSync(join(scratch, "file"), "");
symlinkSync(join(scratch, "nowhere", "below"), join(scratch, "dangling"));

const PLACES: Readonly<Record<string, string>> = {
  "where the system lets nobody make anything": "/proc/x",
  "below such a place": "/proc/x/y/z",
  "that is a file": join(scratch, "file"),
  "below a file": join(scratch, "file", "data"),
  "that is a link to nothing": join(scratch, "dangling"),
  "with too long a name": join(scratch, "x".repeat(300)),
};

for (const [place, path] of Object.entries(PLACES)) {
  const needsProc = path.startsWith("/proc") && platform() !== "linux";
  test(`a data directory ${place} is refused with one line`, { skip: needsProc && "there is no /proc" }, () => {
    const env = { PATH: process.env.PATH ?? "", PORT: "0", TB_DATA_DIR: path };
    const { status, stderr } = spawnSync(process.execPath, [BIN, "serve"], {
      env,
      encoding: "utf8",
      timeout: TIMEOUT_MS,
    });
    assert.equal(status, 1, stderr);
    assert.match(stderr.trim(), /^error: The data directory .* cannot be made: [^\n]*$/);
    assert.ok(stderr.includes(path.slice(0, 100)));
  });
}
