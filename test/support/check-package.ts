/** `npm run check` of the client as it is published: packs it in a scratch directory, and judges the tarball with publint and arethetypeswrong. Needs no network. */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { packClient } from "../../cli/client-package.ts";

/** The faults that the two tools find in the package. */
async function findProblems(directory: string): Promise<string[]> {
  const tarball = readFileSync(await packClient(directory));
  const { buffer, byteOffset, byteLength } = tarball;
  const packed = buffer.slice(byteOffset, byteOffset + byteLength);
  const { messages, pkg } = await publint({ pack: { tarball: packed }, strict: true });
  const analysis = await checkPackage(createPackageFromTarballData(tarball));
  const found = analysis.types === false ? ["it has no types"] : analysis.problems;
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
