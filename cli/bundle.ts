/** Bundles the command line and the service into a few files that need no other module. */

import { isBuiltin } from "node:module";
import { relative } from "node:path";
import { type Plugin, rolldown } from "rolldown";

/** Modules that are loaded by their path: the command line, each thread, and what `cli/width.ts` loads late. */
const ENTRIES = {
  main: "cli/main.ts",
  "writer-worker": "server/store/sqlite/writer-worker.ts",
  "reader-worker": "server/store/sqlite/reader-worker.ts",
  "group-worker": "server/store/postgres/group-worker.ts",
  "deliver-worker": "server/app/deliver-worker.ts",
  "string-width": "string-width",
};

/** Bundles the sources of `root` into `directory`. Returns the paths of all modules that were read. */
export async function bundle(root: string, directory: string): Promise<string[]> {
  const bundler = await rolldown({
    cwd: root,
    input: ENTRIES,
    platform: "node",
    plugins: [requireBuiltins, trimUndici, nameSources(root), escapeUnicode],
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

/**
 * Loads only the parts of undici that the service uses: its index also loads mocks, caches and a WebSocket, in each of two
 * threads. If a source imports another name the build fails, and `cli/bundle.test.ts` with it.
 */
const trimUndici: Plugin = {
  name: "trim-undici",
  load: (id) => (id.endsWith("/node_modules/undici/index.js") ? UNDICI : null),
};

const UNDICI = `
import Agent from "./lib/dispatcher/agent.js";
import Client from "./lib/dispatcher/client.js";
import Dispatcher from "./lib/dispatcher/dispatcher.js";
import Pool from "./lib/dispatcher/pool.js";
import api from "./lib/api/index.js";
import buildConnector from "./lib/core/connect.js";
import formData from "./lib/web/fetch/formdata.js";
Object.assign(Dispatcher.prototype, api);
const { FormData } = formData;
export { Agent, buildConnector, Client, FormData, Pool };`;

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
