/** The language of the code and the documents: no comment that has to be read twice, no word that the glossary replaced, no citation of a document that is not here. */

import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const CODE = globSync("{contract,sdk,server,site,cli,console,bench,test,examples}/**/*.{ts,tsx,js,mjs}", {
  cwd: ROOT,
}).filter((path) => !/(^|\/)(node_modules|dist)\//.test(path) && path !== "test/words.test.ts");
const DOCUMENTS = globSync("{*.md,docs/**/*.md,sdk/*.md,console/*.md,examples/**/*.md}", { cwd: ROOT }).filter(
  (path) => path !== "docs/glossary.md",
);

interface Line {
  path: string;
  number: number;
  text: string;
}

function linesOf(paths: readonly string[]): Line[] {
  return paths.flatMap((path) =>
    readFileSync(join(ROOT, path), "utf8")
      .split("\n")
      .map((text, index) => ({ path, number: index + 1, text })),
  );
}

/** The lines that match, for a message that says where they are. */
function matching(lines: readonly Line[], pattern: RegExp): string[] {
  return lines
    .filter(({ text }) => pattern.test(text))
    .map(({ path, number, text }) => `${path}:${number}: ${text.trim()}`);
}

const CODE_LINES = linesOf(CODE);
const DOCUMENT_LINES = linesOf(DOCUMENTS);

test("no comment opens with a free relative: a comment names its subject first", () => {
  const opening =
    /(^\s*\/\/|^\s*\/\*\*?|^\s*\*|\s\/\/) ?(What|Whose|Whoever|Those who|Those that|One that|One who|Of an?|Of the) /;
  assert.deepEqual(matching(CODE_LINES, opening), []);
});

/** A title of a test, or of a group or table of tests. */
const TITLE = /\b(?:(?:test|it|describe|promise)\(\s*|title: )(["`])(.+?)\1,/gs;

test("no title of a test opens with a free relative or a connective: a title is a sentence with a subject", () => {
  const opening = /^(what|whose|who|whoever|those|one (of|that|to|who|whose)|of|nor|and|but|also|the same,)\b/i;
  const titles = CODE.filter((path) => path.startsWith("test/") || path.endsWith(".test.ts")).flatMap((path) =>
    [...readFileSync(join(ROOT, path), "utf8").matchAll(TITLE)].map(([, , title = ""]) => ({ path, title })),
  );
  assert.ok(titles.length > 2_000, `found only ${titles.length}`);
  assert.deepEqual(
    titles.filter(({ title }) => opening.test(title)),
    [],
  );
});

test("no sentence of a document opens with a free relative", () => {
  const opening = /^(- |\* |\d+\. )?(What|Whose|Whoever|Those who|Those that|One that|One who|Of an?) (?!.*\?$)/;
  assert.deepEqual(matching(DOCUMENT_LINES, opening), []);
});

test("nothing cites a document that is not in the repository", () => {
  const elsewhere = /\b([Ss]pecification|[Cc]ontract|[Dd]esign) \d|\bheart\.md|\bprose\.md|\bdecision \d/;
  assert.deepEqual(matching([...CODE_LINES, ...DOCUMENT_LINES], elsewhere), []);
  const cited = CODE_LINES.flatMap(({ path, number, text }) =>
    [...text.matchAll(/\bdocs\/[a-z0-9/-]+\.md\b/g)].map(([document]) => ({ where: `${path}:${number}`, document })),
  );
  assert.deepEqual(
    cited.filter(({ document }) => !existsSync(join(ROOT, document))),
    [],
  );
});

/** Words that `docs/glossary.md` replaced, as they stand in code and in sentences. */
const REPLACED: readonly RegExp[] = [
  /hand[- ]?overs?\b|\bhand(ed|s) over\b|[hH]andOver|HandedOver|\bhandedAt\b/,
  /\bhear[A-Z]|\bHear(d|ing)\b|\bheard\b/,
  /\bTeller\b|\bTelling\b|\btelling\b/,
  /\bunits? of work\b/,
  /\bin doubt\b|\bcauseOfRest\b/,
  /\b[Tt]urnstile\b|\b(has|have|takes?) (its|their|a) turn\b/,
  /\b[Ll]edgers?\b|\bowed\b|\bOwed\b/,
  /\bwatermarks?\b/,
  /\bheld lanes?\b|\blanes? (that is|are|is) held\b|\bdue beside\b/,
  /\bUnderstood\b|\bWanted\b|\bReplayWish\b|\bRehearsal\b/,
  /\b(takes?|took|taken) back\b/,
  /\b(comes?|came) to be\b/,
  /\b[Ss]ighting|\bsighted\b|\b[Hh]appenings?\b/,
  /\bat hand\b/,
  /\bbecame of\b/,
  /\b[Cc]ommanded\b/,
];

/** Names that are stored: keys of an instance's memory and columns, as string literals. */
const STORED = /["'`(|^](heard|owed)[/ |:]|"owed"|`owed`|\bowed: /;

test("no word that the glossary replaced comes back", () => {
  const lines = [...CODE_LINES, ...DOCUMENT_LINES].filter(({ text }) => !STORED.test(text));
  assert.deepEqual(
    REPLACED.flatMap((pattern) => matching(lines, pattern)),
    [],
  );
});
