/** Installs peers that are too large for `npm ci` into the directory that names them: once, and anew if a pinned version changes. */

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

interface Manifest {
  version?: string;
  dependencies?: Record<string, string>;
}

/** Installs the packages of `package.json` in `directory`. Returns the directory of their modules. Throws if npm fails. */
export function installNodePeers(directory: string): string {
  const modules = join(directory, "node_modules");
  const wanted = Object.entries(manifest(directory).dependencies ?? {});
  const isInstalled = wanted.every(([name, version]) => manifest(join(modules, name)).version === version);
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"];
  if (!isInstalled) run(directory, "npm", ["install", ...quiet]);
  return modules;
}

/**
 * Installs the packages of `requirements.txt` in `directory` into a virtual environment. Returns the directory of its
 * commands, or null if this machine has no Python with `venv`. Throws if the installation fails.
 */
export function installPythonPeers(directory: string): string | null {
  const environment = join(directory, ".venv");
  const commands = join(environment, "bin");
  const requirements = join(directory, "requirements.txt");
  // Written when the installation is complete: the requirements that the environment was made from.
  const installed = join(environment, "installed.txt");
  const wanted = readFileSync(requirements, "utf8");
  if (existsSync(installed) && readFileSync(installed, "utf8") === wanted) return commands;
  if (spawnSync("python3", ["-c", "import ensurepip, venv"]).status !== 0) return null;
  rmSync(environment, { recursive: true, force: true });
  run(directory, "python3", ["-m", "venv", environment]);
  run(directory, join(commands, "pip"), ["install", "--quiet", "--disable-pip-version-check", "-r", requirements]);
  writeFileSync(installed, wanted);
  return commands;
}

function manifest(directory: string): Manifest {
  const file = join(directory, "package.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Manifest) : {};
}

function run(directory: string, command: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { cwd: directory, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed: ${stderr}`);
}
