/** The rules of the house for files among themselves: no circle of imports, each type name once, no two names of one stem. */

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { basename, dirname, join, posix } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const SERVER = sourcesOf("{server,site}/**/*.ts");
const CONSOLE = sourcesOf("console/**/*.{ts,tsx}");

function sourcesOf(pattern: string): string[] {
  return globSync(pattern, { cwd: ROOT }).filter((path) => !/\.test\.ts$|\/node_modules\//.test(path));
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** The files of some that each of them imports, those of types and by `import()` included. */
function importsAmong(files: readonly string[]): Map<string, string[]> {
  return new Map(files.map((path) => [path, importsOf(path).filter((file) => files.includes(file))]));
}

function importsOf(path: string): string[] {
  const imports = read(path).matchAll(/^(?:import|export)\b[^;"(]*"(\.[^"]+)"|\bimport\("(\.[^"]+)"\)/gm);
  return [...imports].map(([, target, loaded = ""]) => posix.join(posix.dirname(path), target ?? loaded));
}

test("the server and the console have no circular imports, types and `import()` included", () => {
  assert.ok(CONSOLE.length > 100 && [...importsAmong(CONSOLE).values()].flat().length > 300);
  assert.deepEqual(circlesIn(importsAmong(SERVER)), []);
  assert.deepEqual(circlesIn(importsAmong(CONSOLE)), []);
  const circle = new Map([
    ["a", ["b", "d"]],
    ["b", ["c"]],
    ["c", ["a"]],
    ["d", []],
  ]);
  assert.deepEqual(circlesIn(circle), [["a", "b", "c", "a"]]);
});

/** A circle of imports through each file that closes one; the files that only lead to a circle are not in it. */
function circlesIn(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const circles: string[][] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string) => {
    const start = path.indexOf(file);
    if (start >= 0) circles.push([...path.slice(start), file]);
    if (start >= 0 || done.has(file)) return;
    path.push(file);
    for (const target of imports.get(file) ?? []) visit(target);
    path.pop();
    done.add(file);
  };
  for (const file of imports.keys()) visit(file);
  return circles;
}

test("a type name is declared in one file of the server", () => {
  const declared = /^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class|enum) ([A-Za-z0-9_]+)/gm;
  const files = new Map<string, Set<string>>();
  for (const path of SERVER) {
    for (const [, name = ""] of read(path).matchAll(declared))
      files.set(name, (files.get(name) ?? new Set()).add(path));
  }
  const shared = [...files].filter(([, paths]) => paths.size > 1).map(([name]) => name);
  assert.deepEqual(shared, []);
});

test("`where` of a fault in the log is the name of the file that reports it, or the provider's function that threw", () => {
  const reported = /\bfault\((?:"([^"]*)"|`([^`]*)`)|\bnullIfUnreadable\([^"]*?, "([^"]*)"|\bwhere: "([^"]*)"/g;
  const names = SERVER.flatMap((path) =>
    [...read(path).matchAll(reported)].map(([, ...found]) => ({ path, where: found.join("") })),
  );
  assert.ok(names.length > 30, `found only ${names.length}`);
  const isClear = ({ path, where }: { path: string; where: string }) =>
    /^provider\.(start|stop|remove|send|reconcile|action|\$\{instance\.provider\})(:\$\{[\w.]+\})?$/.test(where) ||
    basename(path, ".ts") === where;
  assert.deepEqual(
    names.filter((name) => !isClear(name)),
    [],
  );
});

test("no two files of a directory share a stem", () => {
  assert.ok(haveOneStem("settle", "settled") && haveOneStem("submit", "submitting") && haveOneStem("retry", "retries"));
  assert.ok(!haveOneStem("receive", "receipts") && !haveOneStem("group", "group-photo"));
  const alike = SERVER.flatMap((path, index) =>
    SERVER.slice(index + 1)
      .filter((other) => dirname(other) === dirname(path) && haveOneStem(basename(path, ".ts"), basename(other, ".ts")))
      .map((other) => `${path} and ${other}`),
  );
  assert.deepEqual(alike, []);
});

const ENDINGS = /^(e?s|e?d|ies|ied|ing|ings|ers?|ors?|ions?|ments?)?$/;

/** Whether two names differ in endings of their words alone: `settle` and `settled`. */
function haveOneStem(left: string, right: string): boolean {
  const [lefts, rights] = [left.split("-"), right.split("-")];
  return lefts.length === rights.length && lefts.every((word, index) => isOneWord(word, rights[index] ?? ""));
}

function isOneWord(left: string, right: string): boolean {
  let shared = 0;
  while (shared < left.length && left[shared] === right[shared]) shared += 1;
  if (shared === left.length && shared === right.length) return true;
  // The doubled consonant of `submitting`, and the last vowel of `settle` and `retry`, belong to the stem.
  const endingOf = (word: string) =>
    word.slice(word[shared] === word[shared - 1] ? shared + 1 : shared).replace(/^[ey]$/, "");
  return shared >= 4 && ENDINGS.test(endingOf(left)) && ENDINGS.test(endingOf(right));
}
