/**
 * No text from outside can make a regular expression take longer than its length allows: each one of the service is proven linear, or
 * is applied to texts of a bounded length only.
 */

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import test from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { check } from "recheck";
import { parseAst } from "rolldown/parseAst";
import { Visitor } from "rolldown/utils";
import { SHOWN } from "../contract/schema.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** The slowest proof takes 2 s. Proofs that are not found end by this limit. */
const PROOF_MS_MAX = 60_000;

/** A regular expression of a file. */
interface Found {
  file: string;
  source: string;
  flags: string;
}

/** Why regular expressions without a proof may stay. */
interface Bounded {
  file: string;
  /** How their sources begin. */
  begins: string;
  /** Code of the same file that bounds the texts first, or null if they meet the project's own documents only. */
  cut: string | null;
}

const BOUNDED: readonly Bounded[] = [
  { file: "contract/reference.ts", begins: "^(?:\\+[1-9]\\d{1,14}|[A-Za-z0-9!#", cut: null },
  { file: "server/core/payment-text.ts", begins: "^", cut: "if (text.length > TEXT_LENGTH_MAX) return null;" },
  {
    file: "server/core/reaction.ts",
    begins: "^\\p{RGI_Emoji}$",
    cut: "if (text.length > EMOJI_LENGTH_MAX) return null;",
  },
];

/** The literals of a file, and how often it constructs another one. */
function literalsOf(file: string): { found: Found[]; constructed: number } {
  const found: Found[] = [];
  let constructed = 0;
  const construct = ({ callee }: { callee: object }) => {
    if ("name" in callee && callee.name === "RegExp") constructed += 1;
  };
  new Visitor({
    Literal: (node) => {
      if ("regex" in node) found.push({ file, source: node.regex.pattern, flags: node.regex.flags });
    },
    NewExpression: construct,
    CallExpression: construct,
  }).visit(parseAst(readFileSync(ROOT + file, "utf8"), { lang: "ts" }, file));
  return { found, constructed };
}

/** The expressions that a module constructs while it is loaded, by its own code. */
async function constructedBy(file: string): Promise<Found[]> {
  const found: Found[] = [];
  const { RegExp: own } = globalThis;
  const record = (source: unknown, flags: unknown) => {
    const made = new own(source as string, flags as string);
    if (new Error().stack?.includes(`/${file}?`)) found.push({ file, source: made.source, flags: made.flags });
    return made;
  };
  globalThis.RegExp = new Proxy(own, {
    construct: (_, [source, flags]) => record(source, flags),
    apply: (_, __, [source, flags]) => record(source, flags),
  });
  try {
    await import(`${pathToFileURL(ROOT + file).href}?loaded-to-be-read`);
  } finally {
    globalThis.RegExp = own;
  }
  return found;
}

/** The patterns of a schema, which requests meet. Those under `SHOWN` and names like it are for documents, and never applied. */
function patternsOf(file: string, value: unknown, seen: Set<unknown>): Found[] {
  if (typeof value !== "object" || value === null || seen.has(value)) return [];
  seen.add(value);
  return Object.entries(value).flatMap(([key, inner]) => {
    if (key === SHOWN || key.endsWith("Shown")) return [];
    if (key === "pattern" && typeof inner === "string") return [{ file, source: inner, flags: "u" }];
    return patternsOf(file, inner, seen);
  });
}

/** Says why a text could make an expression slow, or null where none can. */
async function complaintAbout({ file, source, flags }: Found): Promise<string | null> {
  const proof = await check(source, flags, { checker: "automaton", timeout: PROOF_MS_MAX });
  if (proof.status === "safe") return null;
  return `${file}: /${source}/${flags} is ${proof.status === "vulnerable" ? proof.complexity.type : "undecided"}`;
}

const isRow = ({ file, source }: Found) => BOUNDED.some((row) => row.file === file && source.startsWith(row.begins));

test("each regular expression of the service is linear, or its texts are bounded first", {
  timeout: 600_000,
}, async () => {
  const files = globSync("{server,contract,sdk,cli}/**/*.ts", { cwd: ROOT }).filter(
    (file) => !/\.test\.ts$/.test(file),
  );
  const all: Found[] = [];
  for (const file of files) {
    const { found, constructed } = literalsOf(file);
    const made = constructed === 0 ? [] : await constructedBy(file);
    assert.ok(
      made.length >= constructed,
      `${file} constructs a regular expression later than at its load: make it a constant`,
    );
    all.push(...found, ...made);
  }
  const seen = new Set<unknown>();
  for (const file of files.filter((name) => name.startsWith("contract/")))
    all.push(...patternsOf(file, { ...(await import(pathToFileURL(ROOT + file).href)) }, seen));
  assert.ok(all.length > 300, `only ${all.length} were found`);
  const complaints: string[] = [];
  const known = new Set<string>();
  for (const found of all.filter((one) => !isRow(one))) {
    const text = `/${found.source}/${found.flags}`;
    if (known.has(text)) continue;
    known.add(text);
    const complaint = await complaintAbout(found);
    if (complaint !== null) complaints.push(complaint);
  }
  assert.deepEqual(complaints, []);
  for (const { file, begins, cut } of BOUNDED) {
    assert.ok(
      all.some((one) => one.file === file && one.source.startsWith(begins)),
      `${file} has no ${begins} any more`,
    );
    assert.ok(
      cut === null || readFileSync(ROOT + file, "utf8").includes(cut),
      `${file} does not cut its texts any more`,
    );
  }
});

test("the proof finds an expression that a text of dots makes slow", async () => {
  const slow = { file: "core/opt-out.ts", source: "[\\s.]+$", flags: "" };
  assert.match((await complaintAbout(slow)) ?? "", /is polynomial$/);
});
