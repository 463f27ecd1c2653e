/** `npm run check` of the client as it is published: packs `sdk/` in a scratch directory, and judges the tarball with publint and arethetypeswrong. Needs no network. */

import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Packs a copy of the client, and returns the tarball's path. */
async function pack(directory: string): Promise<string> {
  cpSync(join(ROOT, "sdk"), directory, { recursive: true, filter: (path) => !/\.test\.ts$|[/\\]dist$/.test(path) });
  symlinkSync(join(ROOT, "node_modules"), join(directory, "node_modules"));
  const { stdout } = await promisify(execFile)("npm", ["pack", "--json", "--offline"], { cwd: directory });
  const [packed] = JSON.parse(stdout) as { filename: string }[];
  return join(directory, packed?.filename ?? "");
}

/** The package is ESM only, as its README says: CommonJS loads it with `import()`. */
function isProblem({ kind }: { kind: string }): boolean {
  return kind !== "CJSResolvesToESM";
}

/** The faults that the two tools find in the package. */
async function findProblems(directory: string): Promise<string[]> {
  const tarball = readFileSync(await pack(directory));
  const { buffer, byteOffset, byteLength } = tarball;
  const packed = buffer.slice(byteOffset, byteOffset + byteLength);
  const { messages, pkg } = await publint({ pack: { tarball: packed }, strict: true });
  const analysis = await checkPackage(createPackageFromTarballData(tarball));
  const found = analysis.types === false ? ["it has no types"] : analysis.problems.filter(isProblem);
  return [
    ...messages.map((message) => `publint: ${formatMessage(message, pkg, { color: false })}`),
    ...found.map((problem) => `arethetypeswrong: ${JSON.stringify(problem)}`),
  ];
}

const scratch = mkdtempSync(join(tmpdir(), "tightbeam-package-"));
try {
  const problems = await findProblems(scratch);
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
