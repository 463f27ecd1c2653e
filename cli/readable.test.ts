import assert from "node:assert/strict";
import { chmodSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { emptyDirectory } from "../test/support/cli.ts";
import { makeReadable } from "./readable.ts";

test("makeReadable lets everybody read files, enter directories and run programs, and write nothing", (t) => {
  const directory = emptyDirectory(t);
  mkdirSync(join(directory, "in"));
  const modes = [
    { name: "in", closed: 0o700, open: 0o755 },
    { name: "in/page.html", closed: 0o600, open: 0o644 },
    { name: "in/program", closed: 0o700, open: 0o755 },
    { name: "in/read-only", closed: 0o400, open: 0o444 },
  ];
  for (const { name } of modes.slice(1)) writeFileSync(join(directory, name), "");
  for (const { name, closed } of modes.toReversed()) chmodSync(join(directory, name), closed);
  makeReadable(directory);
  const modeOf = (name: string) => statSync(join(directory, name)).mode & 0o777;
  assert.deepEqual(
    modes.map(({ name }) => [name, modeOf(name)]),
    modes.map(({ name, open }) => [name, open]),
  );
});
