/** Lists the packages whose code is in the bundles, with their licenses, for the file `THIRD-PARTY-LICENSES.txt` of an installed service. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";

/** A package with its license, as Vite lists those of the console. */
export interface LicensedPackage {
  name: string;
  version: string;
  /** SPDX identifier; null if the package names none. */
  identifier: string | null;
  /** The text of the license; absent if the package has no such file. */
  text?: string;
}

const LICENSE_FILE = /^(licen[cs]e|copying)(\.(md|txt))?$/i;
const MODULES = `${sep}node_modules${sep}`;

/** The packages that the modules at these paths belong to. */
export function packagesOf(modules: readonly string[]): LicensedPackage[] {
  const directories = new Set(modules.flatMap((path) => directoryOf(path) ?? []));
  return [...directories].map(readPackage);
}

/** The package in the directory `path`. */
export function readPackage(path: string): LicensedPackage {
  const { name, version, license } = JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
  const file = readdirSync(path)
    .sort()
    .find((entry) => LICENSE_FILE.test(entry));
  const text = file === undefined ? {} : { text: readFileSync(join(path, file), "utf8") };
  return { name, version, identifier: typeof license === "string" ? license : null, ...text };
}

/** The directory of the package that a module belongs to; null for a module that no package brought. */
function directoryOf(path: string): string | null {
  const at = path.lastIndexOf(MODULES);
  if (at < 0) return null;
  const [first = "", second = ""] = path.slice(at + MODULES.length).split(sep);
  const directory = path.slice(0, at + MODULES.length) + (first.startsWith("@") ? join(first, second) : first);
  return existsSync(join(directory, "package.json")) ? directory : null;
}

const LINE = "-".repeat(80);

/** The text of the file: each package once, in order of its name. The same packages make the same text. */
export function formatLicenses(packages: readonly LicensedPackage[]): string {
  const byId = new Map(packages.map((one) => [`${one.name} ${one.version}`, one]));
  const parts = [...byId]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, { identifier, text }]) => {
      const license = text?.replaceAll("\r\n", "\n").trim() ?? "The package has no file with the text of this license.";
      return `${LINE}\n${id} (${identifier ?? "license in the text"})\n${LINE}\n\n${license}\n`;
    });
  return ["Tightbeam contains code of the packages below, each under its own license.\n", ...parts].join("\n");
}
