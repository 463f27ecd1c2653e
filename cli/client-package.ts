/** Builds and packs the client as it is published: as ES modules and as CommonJS, each with its types. `prepack` of `sdk/` runs it, and with `--if-stale` `npm run build` and each start from the sources, which serves `dist/sdk.tgz`. */

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { makeReadable } from "./readable.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** Files of the package beside `dist` and its package.json, which keeps no scripts. */
const PACKED = ["README.md", "LICENSE", "vectors.json"];
/** The entries of the package: `exports` in its package.json names them. */
const ENTRIES = ["index.ts", "webhook.ts"];
/** The syntax that Node 20.3 runs. */
const TARGET = "es2022";
const FORMATS = [
  { format: "esm", extension: "js" },
  { format: "cjs", extension: "cjs" },
] as const;

/** Packs the client into a tarball in `directory`, without a trace in `sdk/`. Returns its path. */
export async function packClient(directory: string): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "tightbeam-sdk-"));
  try {
    for (const name of PACKED) await cp(join(ROOT, "sdk", name), join(copy, name));
    const { scripts: _, ...manifest } = JSON.parse(await readFile(join(ROOT, "sdk/package.json"), "utf8"));
    await writeFile(join(copy, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
    await buildClient(copy);
    return await pack(copy, directory);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** Packs a directory that holds a whole package into a tarball in `directory`, for every user to read. Returns its path. */
export async function pack(source: string, directory: string): Promise<string> {
  const to = resolve(directory);
  await mkdir(to, { recursive: true });
  makeReadable(source);
  const options = ["--json", "--offline", "--ignore-scripts", "--pack-destination", to];
  const { stdout } = await promisify(execFile)("npm", ["pack", ...options], { cwd: source });
  const [packed] = JSON.parse(stdout) as { filename: string }[];
  if (packed === undefined) throw new Error(`npm packed nothing: ${stdout}`);
  const path = join(to, packed.filename);
  makeReadable(path);
  return path;
}

/** Writes `dist` of the client: the sources of `sdk/` file by file, in both formats. */
export async function buildClient(directory: string): Promise<void> {
  const dist = join(directory, "dist");
  await rm(dist, { recursive: true, force: true });
  await mkdir(dist, { recursive: true });
  await Promise.all([writeCode(dist), writeTypes(dist)]);
}

async function writeCode(dist: string): Promise<void> {
  const { rolldown } = await import("rolldown");
  const source = await rolldown({
    cwd: join(ROOT, "sdk"),
    input: ENTRIES,
    platform: "neutral",
    transform: { target: TARGET },
    logLevel: "silent",
  });
  for (const { format, extension } of FORMATS) {
    await source.write({ dir: dist, format, preserveModules: true, entryFileNames: `[name].${extension}` });
  }
  await source.close();
}

const TSC = [
  ...["--ignoreConfig", "--strict", "--declaration", "--emitDeclarationOnly", "--allowImportingTsExtensions"],
  ...["--target", TARGET, "--module", "nodenext", "--types", "node"],
];

/** Writes the types of the ES modules with tsc, and the same for CommonJS: their imports name the files of that format. */
async function writeTypes(dist: string): Promise<void> {
  const program = join(ROOT, "node_modules/typescript/bin/tsc");
  await promisify(execFile)(process.execPath, [program, ...TSC, "--outDir", dist, ...ENTRIES], {
    cwd: join(ROOT, "sdk"),
  });
  const declarations = (await readdir(dist)).filter((name) => name.endsWith(".d.ts"));
  for (const name of declarations) {
    const types = await readFile(join(dist, name), "utf8");
    const importing = (extension: string) => types.replace(/"(\.\/[\w-]+)\.ts"/g, `"$1.${extension}"`);
    await writeFile(join(dist, name.replace(/ts$/, "cts")), importing("cjs"));
    await writeFile(join(dist, name), importing("js"));
  }
}

/** The tarball that a service from the sources serves, and the file with the hash of the sources that it was packed from. */
const KEPT = join(ROOT, "dist/sdk.tgz");
const PACKED_FROM = join(ROOT, "dist/.sdk-packed-from");
/** Everything that goes into the package. */
const INPUTS = ["sdk/**/*.ts", ...["package.json", ...PACKED].map((name) => `sdk/${name}`), "cli/client-package.ts"];

/** Packs the client into `dist/sdk.tgz`, unless the present tarball is of the present sources. The tarball is never half written. */
async function packIfStale(): Promise<void> {
  const hash = hashInputs();
  if (existsSync(KEPT) && existsSync(PACKED_FROM) && readFileSync(PACKED_FROM, "utf8").trim() === hash) return;
  await mkdir(join(ROOT, "dist"), { recursive: true });
  const directory = await mkdtemp(join(ROOT, "dist/.sdk-"));
  try {
    await rename(await packClient(directory), KEPT);
    await writeFile(PACKED_FROM, `${hash}\n`);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** SHA-256 in hex of everything that goes into the package. */
function hashInputs(): string {
  const paths = INPUTS.flatMap((pattern) => globSync(pattern, { cwd: ROOT })).filter(
    (path) => !/\.test\.ts$|dist/.test(path),
  );
  const hash = createHash("sha256");
  for (const path of ["package-lock.json", ...paths.sort()]) {
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(ROOT, path)))
      .update("\0");
  }
  return hash.digest("hex");
}

if (import.meta.main) {
  const [first = "."] = process.argv.slice(2);
  if (first === "--if-stale") {
    // A service has a umask for its secrets, and other users may run the same sources.
    process.umask(0o022);
    await packIfStale();
  } else await buildClient(resolve(first));
}
