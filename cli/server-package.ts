/** Writes the files of the service as it is installed: the bundle, the console, the documentation and the client that it hands out. They need no other module. */

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { cp, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { writeSite } from "../site/site.ts";
import { bundle } from "./bundle.ts";
import { packClient } from "./client-package.ts";
import { formatLicenses, type LicensedPackage, packagesOf, readPackage } from "./third-party-licenses.ts";

/** The fields of the root's package.json that an installed service keeps: it has no dependencies and no scripts. */
const FIELDS = ["name", "version", "description", "license", "type", "bin", "engines"];
/** Files of the build of the console that only the next build reads. */
const BUILD_RECORDS = [".vite", ".built-from"];
/** The licenses of the packages in the bundle and in the console. */
const LICENSES = "THIRD-PARTY-LICENSES.txt";

/** Writes the service of the sources in `root` into `directory`: its command line is `cli/bin.js`. */
export async function writeServerFiles(root: string, directory: string): Promise<void> {
  await mkdir(join(directory, "cli"), { recursive: true });
  await mkdir(join(directory, "dist"), { recursive: true });
  for (const name of ["cli/bin.js", "LICENSE"]) await cp(join(root, name), join(directory, name));
  await writeFile(join(directory, "package.json"), await manifestOf(root));
  const modules = await bundle(root, join(directory, "dist/cli"));
  await copyConsole(root, join(directory, "dist/console"));
  // An installed service has no pictures: the console itself is a click away.
  writeSite(join(directory, "dist/console"), { root, hasPictures: false });
  await writeFile(join(directory, LICENSES), formatLicenses([...packagesOf(modules), ...consolePackages(root)]));
  const client = await packClient(join(directory, "dist"));
  await rename(client, join(directory, "dist/sdk.tgz"));
}

async function manifestOf(root: string): Promise<string> {
  const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as Record<string, unknown>;
  const kept = FIELDS.map((field) => [field, manifest[field]]);
  return `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`;
}

/** Copies the console, built from its present sources. */
async function copyConsole(root: string, directory: string): Promise<void> {
  await promisify(execFile)(process.execPath, [join(root, "console/build.ts"), "--if-stale"]);
  await cp(join(root, "dist/console"), directory, {
    recursive: true,
    filter: (path) => !BUILD_RECORDS.includes(basename(path)),
  });
}

/** The packages in the build of the console. The style sheet has rules of Tailwind, which is no module of the build. */
function consolePackages(root: string): LicensedPackage[] {
  const listed = JSON.parse(readFileSync(join(root, "dist/console/.vite/license.json"), "utf8")) as LicensedPackage[];
  return [...listed, readPackage(join(root, "node_modules/tailwindcss"))];
}
