/** The weight of the console: what a browser loads before it shows something, and what each screen adds. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const BUILD = join(ROOT, "dist/console");
/** Gzipped bytes. */
const FIRST_LOAD_MAX = 180_000;
const SCREEN_MAX = 30_000;
/** The script and the style of the documentation, which is read without the console. */
const DOCS_MAX = 30_000;

/** A file of the build, as Vite's manifest names it. */
interface Chunk {
  file: string;
  isDynamicEntry?: boolean;
  imports?: string[];
  css?: string[];
}

function readManifest(): Map<string, Chunk> {
  execFileSync(process.execPath, [join(ROOT, "console/build.ts"), "--if-stale"], { stdio: "inherit" });
  return new Map(Object.entries(JSON.parse(readFileSync(join(BUILD, ".vite/manifest.json"), "utf8"))));
}

/** The files that a chunk loads at once: itself, its styles, and those of everything it imports. */
function filesOf(chunks: ReadonlyMap<string, Chunk>, name: string, found = new Set<string>()): Set<string> {
  const chunk = chunks.get(name) ?? assert.fail(`the manifest does not name ${name}`);
  if (found.has(chunk.file)) return found;
  found.add(chunk.file);
  for (const file of chunk.css ?? []) found.add(file);
  for (const each of chunk.imports ?? []) filesOf(chunks, each, found);
  return found;
}

function weigh(files: Iterable<string>): number {
  return [...files].reduce((sum, file) => sum + statSync(join(BUILD, `${file}.gz`)).size, 0);
}

const CHUNKS = readManifest();
const ENTRY = "index.html";
const HOME = "pages/home/home.tsx";

test(`the first load, Home included, is at most ${FIRST_LOAD_MAX / 1_000} kB gzipped`, () => {
  const weight = weigh(filesOf(CHUNKS, HOME, filesOf(CHUNKS, ENTRY)));
  assert.ok(weight <= FIRST_LOAD_MAX, `${weight} bytes`);
});

test(`a page of the documentation loads at most ${DOCS_MAX / 1_000} kB gzipped beside its text`, () => {
  const weight = weigh(filesOf(CHUNKS, "docs.html"));
  assert.ok(weight <= DOCS_MAX, `${weight} bytes`);
});

test(`each further screen adds at most ${SCREEN_MAX / 1_000} kB gzipped`, () => {
  const first = filesOf(CHUNKS, HOME, filesOf(CHUNKS, ENTRY));
  const screens = [...CHUNKS].filter(([name, { isDynamicEntry }]) => isDynamicEntry && name.startsWith("pages/"));
  assert.ok(screens.length > 2, `found only ${screens.length} screens`);
  const heavy = screens
    .map(([name]) => ({ name, bytes: weigh(filesOf(CHUNKS, name).difference(first)) }))
    .filter(({ bytes }) => bytes > SCREEN_MAX);
  assert.deepEqual(heavy, []);
});
