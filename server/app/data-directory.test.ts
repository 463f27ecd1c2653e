/** Data directories that cannot be made: the start says so in one line. */
// own-process: the command serve sets the umask and listens to signals

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { platform, tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runOnTerminal } from "../../test/support/cli.ts";

/** A service that starts after all is a hang. */
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
  const options = { skip: needsProc && "there is no /proc", timeout: TIMEOUT_MS };
  test(`a data directory ${place} is refused with one line`, options, async () => {
    const { code, stderr } = await runOnTerminal(["serve"], { PORT: "0", TB_DATA_DIR: path });
    assert.equal(code, 1, stderr);
    assert.match(stderr.trim(), /^error: The data directory .* cannot be made: [^\n]*$/);
    assert.ok(stderr.includes(path.slice(0, 100)));
  });
}
