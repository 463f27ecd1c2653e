/** `sdk/wire.ts` and `cli/request-fields.ts`, generated from `contract/`. Run by itself, it writes both files. */

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { NOUNS } from "../../contract/contract.ts";
import { allEvents } from "../../contract/events.ts";
import { renderRequestFields } from "../../contract/terminal.ts";
import { renderTypes } from "../../contract/typescript.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

export const WIRE = `${ROOT}sdk/wire.ts`;
export const REQUEST_FIELDS = `${ROOT}cli/request-fields.ts`;

/** The text of `sdk/wire.ts`. */
export function renderWire(): string {
  const nouns = NOUNS.map(([file, exports]) => ({ exports, comments: commentsOf(file) }));
  return formatted(WIRE, renderTypes(nouns, allEvents));
}

/** The text of `cli/request-fields.ts`. */
export function renderOptionHelp(): string {
  return formatted(REQUEST_FIELDS, renderRequestFields(NOUNS.map(([, exports]) => ({ exports }))));
}

/** The text as the formatter leaves it. */
function formatted(path: string, input: string): string {
  const biome = `${ROOT}node_modules/.bin/biome`;
  return execFileSync(biome, ["format", `--stdin-file-path=${path}`], { cwd: ROOT, input, encoding: "utf8" });
}

/** Comments on the exported constants of a noun's file. */
function commentsOf(file: string): Record<string, string> {
  const text = readFileSync(`${ROOT}contract/${file}.ts`, "utf8");
  const found = text.matchAll(/^\/\*\* (.*) \*\/\nexport const ([A-Z0-9_]+) =/gm);
  return Object.fromEntries([...found].map(([, comment = "", name = ""]) => [name, comment]));
}

if (import.meta.main) {
  writeFileSync(WIRE, renderWire());
  writeFileSync(REQUEST_FIELDS, renderOptionHelp());
}
