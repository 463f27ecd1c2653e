/** The import law: every file of the product is in a layer, which lists what its files may import; all else is refused. */

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { basename, join, posix } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

interface Layer {
  name: string;
  /** Which files are in it: the first layer that matches counts. */
  files: RegExp;
  /** Files of ours that it may import, by their path from the root. */
  imports: RegExp;
  /** Libraries and parts of Node that it may import. */
  libraries: RegExp;
  /** A file of ours that it may not import, by which the layer is tried. */
  refused: string;
}

const NODE = "node:[a-z0-9_/]+";
const CORE = "server/core/[^/]+|sdk/wire";
/** Tables of telephone numbers and of time zones: data with functions around it. */
const NUMBERS_AND_ZONES = "libphonenumber-js(/.+)?|countries-and-timezones";
/** Libraries that talk to a peer. */
const PEERS = "undici|socket\\.io-client";
/** Libraries that run in the console's page. */
const PAGE_LIBRARIES =
  "react|react-dom/client|@tanstack/react-(query|virtual)|minisearch|(@base-ui/react|wouter)(/.+)?";
/** The directories of the console whose files import each other. */
const ROOMS = "console/(api|shell|parts|wire)/|console/pages/[^/]+$";
/** The files of the provider interface. */
const INTERFACE = "server/providers/(provider|phones)\\.ts";
const BESIDE_APP = "server/(clock|log|metrics)\\.ts";

const LAYERS: readonly Layer[] = [
  layer("sdk", "sdk/", "sdk/", "", "server/core/id.ts"),
  layer("contract", "contract/", "contract/", "typebox", "server/core/id.ts"),
  layer("core", "server/core/", CORE, `node:(crypto|net|zlib)|${NUMBERS_AND_ZONES}`, "server/clock.ts"),
  layer("store", "server/store/[^/]+$", `server/store/|${CORE}`, `${NODE}|kysely(/.+)?`, "server/engine/commit.ts"),
  ...["sqlite", "postgres", "jobs"].map((name) =>
    layer(
      name,
      `server/store/${name}/`,
      `server/store/(${name}/|jobs/|[^/]+$)|${CORE}`,
      `${NODE}|kysely(/.+)?|pg`,
      name === "sqlite" ? "server/store/postgres/store.ts" : "server/store/sqlite/store.ts",
    ),
  ),
  layer(
    "registry",
    "server/providers/registry.ts",
    `server/providers/|server/clock|${CORE}`,
    "",
    "server/store/store.ts",
  ),
  layer(
    "provider.ts",
    "server/providers/[^/]+$",
    `${INTERFACE}|server/clock|${CORE}`,
    "",
    "server/providers/sandbox/sandbox.ts",
  ),
  layer(
    "kit",
    "server/providers/kit/",
    `server/providers/(kit/|provider\\.ts)|server/clock|${CORE}`,
    "",
    "server/providers/twilio/twilio.ts",
  ),
  layer("sandbox", "server/providers/sandbox/", ownProvider("sandbox"), NODE, "server/providers/twilio/twilio.ts"),
  ...["bluebubbles", "smpp", "twilio"].map((name) =>
    layer(
      name,
      `server/providers/${name}/`,
      ownProvider(name),
      `${NODE}|${PEERS}`,
      "server/providers/sandbox/sandbox.ts",
    ),
  ),
  layer(
    "outgoing",
    "server/outgoing/",
    `server/outgoing/|server/clock|${CORE}`,
    `${NODE}|undici`,
    "server/store/store.ts",
  ),
  layer(
    "engine",
    "server/engine/",
    `server/(engine|outgoing)/|server/store/[^/]+$|server/providers/[^/]+$|server/secrets\\.ts|${BESIDE_APP}|${CORE}`,
    NODE,
    "server/api/server.ts",
  ),
  layer(
    "pipeline",
    "server/api/pipeline/",
    `server/api/(pipeline/|route\\.ts)|contract/|server/store/(rows|store)\\.ts|server/(clock|log)\\.ts|${CORE}`,
    `${NODE}|(ajv|typebox)(/.+)?`,
    "server/api/messages.ts",
  ),
  layer("openapi", "server/api/openapi/", "server/api/openapi/|contract/|sdk/wire", "typebox", "server/api/route.ts"),
  layer(
    "api",
    "server/api/",
    `server/(api|engine)/|server/store/[^/]+$|contract/|${BESIDE_APP}|${CORE}`,
    `${NODE}|(ajv|fastify|typebox)(/.+)?`,
    "server/config.ts",
  ),
  layer(
    "site",
    "site/",
    "site/|server/(api/openapi/|pages/service-url\\.ts)|contract/|sdk/wire",
    "node:(fs|path)|marked",
    "server/api/route.ts",
  ),
  layer(
    "pages",
    "server/pages/",
    `server/(pages|api)/|contract/|server/(clock|log)\\.ts|${CORE}`,
    `${NODE}|fastify(/.+)?`,
    "server/engine/engine.ts",
  ),
  layer("app", "server/app/", "server/|sdk/wire", `${NODE}|fastify`, "sdk/client.ts"),
  layer(
    "beside app",
    "server/[^/]+$",
    `server/[^/]+$|${CORE}`,
    `${NODE}|leven|pino|prom-client`,
    "server/engine/messages/accept.ts",
  ),
  layer(
    "cli",
    "cli/",
    "cli/|sdk/|server/(app/(serve|backup|reseal|vacuum|restore|mark-restored|repair-rows|compare-queues|migrate-to-postgres)|config|core/(duration|printable))\\.ts|site/site\\.ts",
    `${NODE}|commander|leven|rolldown|string-width`,
    "server/store/store.ts",
  ),
  layer(
    "console build",
    "console/(build|place|sources|vite\\.config)\\.ts$",
    "console/(sources|place)\\.ts|site/site\\.ts",
    `${NODE}|vite|@vitejs/.+|@tailwindcss/vite`,
    "console/app.tsx",
  ),
  ...globSync("console/pages/*/", { cwd: ROOT }).map((path) =>
    layer(
      basename(path),
      `console/pages/${basename(path)}/`,
      `console/pages/${basename(path)}/|${ROOMS}|sdk/`,
      PAGE_LIBRARIES,
      basename(path) === "home" ? "console/pages/logs/logs.tsx" : "console/pages/home/home.tsx",
    ),
  ),
  layer(
    "texts of the console",
    "console/docs/",
    `console/docs/|console/pages/|${ROOMS}|sdk/`,
    PAGE_LIBRARIES,
    "console/app.tsx",
  ),
  layer(
    "rooms of the console",
    "console/(api|shell|parts|wire|pages)/",
    `console/pages/|${ROOMS}|sdk/`,
    PAGE_LIBRARIES,
    "console/app.tsx",
  ),
  layer("console", "console/", "console/|sdk/", PAGE_LIBRARIES, "server/core/id.ts"),
];

function layer(name: string, files: string, imports: string, libraries: string, refused: string): Layer {
  const whole = new RegExp(`^(${libraries || "(?!)"})$`);
  return { name, files: new RegExp(`^${files}`), imports: new RegExp(`^(${imports})`), libraries: whole, refused };
}

function ownProvider(name: string): string {
  return `server/providers/(${name}|kit)/|${INTERFACE}|server/clock|${CORE}`;
}

const PRODUCT = globSync("{contract,sdk,server,site,cli,console}/**/*.{ts,tsx,js}", { cwd: ROOT }).filter(
  (path) => !/(^|\/)(node_modules|dist)\/|\.test\.ts$/.test(path),
);

/** Comments may stand between the names of an import. A text that looks like an import counts as one. */
const IMPORTS = [
  /^import\b[^"]*"([^"]+)"/gm,
  /^export\s+(?:type\s+)?[*{][^"]*?\bfrom\s+"([^"]+)"/gm,
  /\bimport\(\s*["`]([^"`]+)["`]/g,
  /\bnew URL\("(\.[^"]+\.(?:ts|js))"/g,
];

function layerOf(path: string): Layer | undefined {
  return LAYERS.find(({ files }) => files.test(path));
}

/** The imports of a source that the law forbids to a file at `path`: by `import`, `export … from`, `import()`, or as a worker. */
function refusalsOf(path: string, source: string): string[] {
  const own = layerOf(path);
  if (own === undefined) return [`${path} is in no layer: name it in this test`];
  const targets = IMPORTS.flatMap((pattern) => [...source.matchAll(pattern)].map((match) => match[1] ?? ""));
  return targets
    .map((target) => (target.startsWith(".") ? posix.join(posix.dirname(path), target) : target))
    .filter((resolved, index) => !(targets[index]?.startsWith(".") ? own.imports : own.libraries).test(resolved))
    .map((resolved) => `${path} imports ${resolved}`);
}

test("imports point down: cli → app → pages → api → engine → {store, providers/*.ts, outgoing} → core → sdk/wire.ts", () => {
  assert.deepEqual(
    PRODUCT.flatMap((path) => refusalsOf(path, readFileSync(join(ROOT, path), "utf8"))),
    [],
  );
});

test("every provider has a layer of its own, so that none imports another", () => {
  const providers = globSync("server/providers/*/", { cwd: ROOT }).map((path) => basename(path));
  assert.deepEqual(
    providers.filter((name) => layerOf(`server/providers/${name}/x.ts`) === undefined),
    [],
  );
});

interface Example {
  path: string;
  source: string;
  isRefused: boolean;
}

const EXAMPLES: readonly Example[] = [
  { path: "contract/sibling.ts", source: 'import "./tables.ts";\nimport "typebox";\n', isRefused: false },
  { path: "sdk/sibling.ts", source: 'import "./wire.ts";\n', isRefused: false },
  { path: "server/core/down.ts", source: 'import "../../sdk/wire.ts";\nimport "node:crypto";\n', isRefused: false },
  { path: "server/core/clock.ts", source: 'import "node:fs";\n', isRefused: true },
  {
    path: "server/store/sqlite/down.ts",
    source: 'import "../../core/id.ts";\nimport "../store.ts";\n',
    isRefused: false,
  },
  { path: "server/store/up.ts", source: 'import "../log.ts";\n', isRefused: true },
  { path: "server/store/worker.ts", source: 'await import("../api/server.ts");\n', isRefused: true },
  { path: "server/engine/again.ts", source: 'export { x } from "../api/x.ts";\n', isRefused: true },
  { path: "server/engine/messages/up.ts", source: 'import "../../api/x.ts";\n', isRefused: true },
  { path: "server/engine/messages/app.ts", source: 'import "../../config.ts";\n', isRefused: true },
  {
    path: "server/engine/messages/down.ts",
    source: 'import "../chats/x.ts";\nimport "../context.ts";\n',
    isRefused: false,
  },
  { path: "server/engine/sqlite.ts", source: 'import "../store/sqlite/writer.ts";\n', isRefused: true },
  { path: "server/engine/down.ts", source: 'import "../store/store.ts";\nimport "../core/id.ts";\n', isRefused: false },
  { path: "server/api/down.ts", source: 'import "../../contract/values.ts";\nimport "typebox";\n', isRefused: false },
  { path: "server/api/secrets.ts", source: 'import "../secrets.ts";\n', isRefused: true },
  { path: "server/api/pool.ts", source: 'import "undici";\n', isRefused: true },
  {
    path: "server/api/pipeline/down.ts",
    source: 'import "../route.ts";\nimport "../../core/id.ts";\n',
    isRefused: false,
  },
  { path: "server/api/pipeline/noun.ts", source: 'import "../messages.ts";\n', isRefused: true },
  {
    path: "server/pages/down.ts",
    source: 'import "../api/pipeline/errors.ts";\nimport "fastify";\n',
    isRefused: false,
  },
  { path: "site/down.ts", source: 'import "../contract/values.ts";\nimport "marked";\n', isRefused: false },
  { path: "site/up.ts", source: 'import "../server/pages/pages.ts";\n', isRefused: true },
  { path: "console/pages/up.tsx", source: 'import "../../server/core/id.ts";\n', isRefused: true },
  { path: "console/pages/phone/up.tsx", source: 'import "../../../server/core/id.ts";\n', isRefused: true },
  {
    path: "console/pages/phone/down.tsx",
    source: 'import "../../parts/x.tsx";\nimport "../../../sdk/client.ts";\n',
    isRefused: false,
  },
  { path: "console/pages/down.tsx", source: 'import "../parts/x.tsx";\nimport "react";\n', isRefused: false },
  { path: "cli/down.ts", source: 'import "../sdk/client.ts";\nimport "../server/app/serve.ts";\n', isRefused: false },
  { path: "cli/store.ts", source: 'import "../server/store/store.ts";\n', isRefused: true },
  { path: "server/new-room/file.ts", source: "", isRefused: true },
  { path: "server/store/server.ts", source: 'import "pg";\n', isRefused: true },
  { path: "server/store/postgres/server.ts", source: 'import "pg";\n', isRefused: false },
  { path: "server/pages/text.ts", source: 'import "marked";\n', isRefused: true },
  { path: "server/api/pipeline/tables.ts", source: 'import "../../store/tables.ts";\n', isRefused: true },
  { path: "server/providers/smpp/sibling.ts", source: 'import "../twilio/twilio.ts";\n', isRefused: true },
  { path: "server/core/type.ts", source: 'import type { Log } from "../log.ts";\n', isRefused: true },
  {
    path: "server/core/said.ts",
    source: 'import {\n  // the log (of all)\n  log,\n} from "../log.ts";\n',
    isRefused: true,
  },
  { path: "server/core/all.ts", source: 'export * from "../log.ts";\n', isRefused: true },
  { path: "server/core/some.ts", source: 'export type { Log } from "../log.ts";\n', isRefused: true },
  { path: "server/core/late.ts", source: "const log = await import(`../log.ts`);\n", isRefused: true },
  { path: "server/core/shape.ts", source: 'type Log = import("../log.ts").Log;\n', isRefused: true },
  { path: "server/core/thread.ts", source: 'new Worker(new URL("../log.ts", import.meta.url));\n', isRefused: true },
];

test("an import that points up from a layer is refused, in each form that an import has", () => {
  for (const own of LAYERS) {
    const path = PRODUCT.find((candidate) => layerOf(candidate) === own);
    assert.ok(path !== undefined && PRODUCT.includes(own.refused), own.name);
    const target = `./${posix.relative(posix.dirname(path), own.refused)}`;
    assert.deepEqual(refusalsOf(path, `import "${target}";\n`), [`${path} imports ${own.refused}`]);
    assert.deepEqual(refusalsOf(path, 'import "left-pad";\n'), [`${path} imports left-pad`]);
  }
  for (const { path, source, isRefused } of EXAMPLES)
    assert.equal(refusalsOf(path, source).length > 0, isRefused, `${path}: ${source}`);
});
