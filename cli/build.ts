/** Bundles the command line and the service into a few files, so that a start loads them instead of 1,500 modules. */

import { mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { basename, join, relative } from "node:path";
import { type Plugin, rolldown } from "rolldown";

/** Modules that are started by their path: the command line and each thread. The bundle's files have these names. */
const ENTRIES = {
  main: "cli/main.ts",
  "writer-worker": "server/store/sqlite/writer-worker.ts",
  "reader-worker": "server/store/sqlite/reader-worker.ts",
};
/** After this time every program has loaded its code, and an old build may be deleted. */
const KEPT_MS = 3_600_000;
const PREFIX = "build-";

/**
 * Builds the sources of `root` in a new directory of `cache`, and names it in `build.json`, with size and time of every
 * file that went into it.
 */
async function build(root: string, cache: string): Promise<void> {
  const startedAt = Date.now();
  const directory = mkdtempSync(join(cache, PREFIX));
  const modules = await bundle(root, directory);
  const installed = join(root, "node_modules/.package-lock.json");
  const own = modules.filter((path) => path.startsWith(root) && !path.includes("/node_modules/"));
  const inputs = [...own, join(root, "cli/build.ts"), installed].map((path) => {
    const { size, mtimeMs } = statSync(path);
    return [relative(root, path), size, mtimeMs] as const;
  });
  // The bundle may contain an older version of a file that changed during the build.
  if (inputs.every(([, , mtimeMs]) => mtimeMs < startedAt)) {
    const manifest = join(directory, "build.json");
    writeFileSync(manifest, JSON.stringify({ directory: basename(directory), inputs }));
    renameSync(manifest, join(cache, "build.json"));
  }
  removeFormer(cache, directory, startedAt);
}

/** Writes the bundle, and returns the paths of all modules that were read. */
async function bundle(root: string, directory: string): Promise<string[]> {
  const bundler = await rolldown({
    cwd: root,
    input: ENTRIES,
    platform: "node",
    plugins: [requireBuiltins, nameSources(root), escapeUnicode],
    logLevel: "silent",
  });
  await bundler.write({
    dir: directory,
    format: "esm",
    comments: { legal: true, annotation: false, jsdoc: false },
    codeSplitting: { groups: [{ name: "builtins", test: (id) => id.startsWith(BUILTIN) }] },
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
  });
  const files = await bundler.watchFiles;
  await bundler.close();
  return files;
}

const BUILTIN = "\0builtin:";

/**
 * Loads the modules of Node with `require`. An `import` reads each of their exports, and among those are getters: one of
 * `node:http` loads a whole HTTP client that nobody uses here.
 */
const requireBuiltins: Plugin = {
  name: "require-builtins",
  // The bundle makes its `require` of `node:module`.
  resolveId: (id, importer) =>
    isBuiltin(id) && !/^(node:)?module$/.test(id) && !importer?.startsWith(BUILTIN) ? BUILTIN + id : null,
  load: (id) =>
    id.startsWith(BUILTIN) ? `module.exports = require(${JSON.stringify(id.slice(BUILTIN.length))});` : null,
};

/** Puts the path of each source file above its code, so that the stack of an error can be read. */
const nameSources = (root: string): Plugin => ({
  name: "name-sources",
  transform: (code, id) =>
    id.startsWith(root) && !id.includes("/node_modules/") ? `/*! ${relative(root, id)} */\n${code}` : null,
});

/** Leaves only ASCII: V8 keeps such a source in half the memory. */
const escapeUnicode: Plugin = {
  name: "escape-unicode",
  // The last hook: what prints the code after `renderChunk` prints escapes of template literals as characters.
  generateBundle(_, files) {
    for (const file of Object.values(files)) if (file.type === "chunk") file.code = escaped(file.code);
  },
};

function escaped(code: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII begins with them.
  return code.replace(/[^\x00-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Deletes old builds that no program loads any more. */
function removeFormer(cache: string, current: string, now: number): void {
  for (const name of readdirSync(cache)) {
    const path = join(cache, name);
    if (!name.startsWith(PREFIX) || path === current) continue;
    if (statSync(path).mtimeMs < now - KEPT_MS) rmSync(path, { recursive: true, force: true });
  }
}

const [root = "", cache = ""] = process.argv.slice(2);
await build(root, cache);
