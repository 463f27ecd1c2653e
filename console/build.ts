/** `npm run build`: builds the console and the documentation into `dist/console`, with the files of the console compressed beside them. With `--if-stale`, only if a source has changed. */

import { chmodSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { takePlace } from "./place.ts";
import { BUILT_FROM, hashSources, isBuilt } from "./sources.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const TARGET = join(ROOT, "dist/console");
/** Files that a compression makes smaller. */
const COMPRESSIBLE = "**/*.{html,js,css,svg,json,webmanifest}";
/** Every user may read the build: the service that builds it at its start has a umask for its secrets, and other users serve copies. */
const UMASK = 0o022;

/** Writes `<file>.br` and `<file>.gz` beside each text file of a directory. */
function compressFiles(directory: string): void {
  for (const path of globSync(COMPRESSIBLE, { cwd: directory })) {
    const bytes = readFileSync(join(directory, path));
    const quality = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
    writeFileSync(join(directory, `${path}.br`), brotliCompressSync(bytes, { params: quality }));
    writeFileSync(join(directory, `${path}.gz`), gzipSync(bytes, { level: 9 }));
  }
}

/** Builds beside the present build, and then takes its place: a service that runs never sees half a build. */
async function buildConsole(): Promise<void> {
  const { build } = await import("vite");
  const { writeSite } = await import("../site/site.ts");
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
    writeSite(directory, { root: ROOT, hasPictures: true });
    writeFileSync(join(directory, BUILT_FROM), `${hash}\n`);
    chmodSync(directory, 0o755);
    // Services that start at once build at once: the first build stays, which the others may already serve.
    if (!isNeeded()) return;
    takePlace(directory, TARGET, () => isBuilt(ROOT));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Whether a build is asked for. */
function isNeeded(): boolean {
  return !process.argv.includes("--if-stale") || !isBuilt(ROOT);
}

process.umask(UMASK);
if (isNeeded()) await buildConsole();
