/** `npm run build`: builds the console into `dist/console`, with each file compressed beside it. With `--if-stale`, only if a source has changed. */

import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { BUILT_FROM, hashSources, isBuilt } from "./sources.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const TARGET = join(ROOT, "dist/console");
/** Files that a compression makes smaller. */
const COMPRESSIBLE = "**/*.{html,js,css,svg,json,webmanifest}";

/** Writes `<file>.br` and `<file>.gz` beside each text file of a directory. */
function compressFiles(directory: string): void {
  for (const path of globSync(COMPRESSIBLE, { cwd: directory })) {
    const bytes = readFileSync(join(directory, path));
    const quality = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
    writeFileSync(join(directory, `${path}.br`), brotliCompressSync(bytes, { params: quality }));
    writeFileSync(join(directory, `${path}.gz`), gzipSync(bytes, { level: 9 }));
  }
}

/** Moves a build to where the service reads it. Another process may have put the same build there at the same time. */
function takePlace(directory: string): void {
  const former = `${directory}-former`;
  if (existsSync(TARGET)) renameSync(TARGET, former);
  try {
    renameSync(directory, TARGET);
  } catch (error) {
    if (!isBuilt(ROOT)) throw error;
  }
  rmSync(former, { recursive: true, force: true });
}

/** Builds beside the present build, and then takes its place: a service that runs never sees half a build. */
async function buildConsole(): Promise<void> {
  const { build } = await import("vite");
  mkdirSync(join(ROOT, "dist"), { recursive: true });
  const directory = mkdtempSync(join(ROOT, "dist/.console-"));
  try {
    const hash = hashSources(ROOT);
    await build({
      configFile: join(ROOT, "console/vite.config.ts"),
      logLevel: "warn",
      build: { outDir: directory, emptyOutDir: true },
    });
    compressFiles(directory);
    writeFileSync(join(directory, BUILT_FROM), `${hash}\n`);
    chmodSync(directory, 0o755);
    takePlace(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

if (!process.argv.includes("--if-stale") || !isBuilt(ROOT)) await buildConsole();
