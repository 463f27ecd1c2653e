/** `sdk/wire.ts`, generated from `contract/`. Run by itself, it writes the file. */

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { NOUNS } from "../../contract/contract.ts";
import { allEvents } from "../../contract/events.ts";
import { renderTypes } from "../../contract/typescript.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

export const WIRE = `${ROOT}sdk/wire.ts`;

/** The text of the file, as the formatter leaves it. */
export function renderWire(): string {
  const nouns = NOUNS.map(([file, exports]) => ({ exports, comments: commentsOf(file) }));
  const command = [`${ROOT}node_modules/.bin/biome`, "format", "--stdin-file-path=sdk/wire.ts"] as const;
  const [biome, ...args] = command;
  return execFileSync(biome, args, { cwd: ROOT, input: renderTypes(nouns, allEvents), encoding: "utf8" });
}

/** Comments on the exported constants of a noun's file. */
function commentsOf(file: string): Record<string, string> {
  const text = readFileSync(`${ROOT}contract/${file}.ts`, "utf8");
  const found = text.matchAll(/^\/\*\* (.*) \*\/\nexport const ([A-Z0-9_]+) =/gm);
  return Object.fromEntries([...found].map(([, comment = "", name = ""]) => [name, comment]));
}

if (import.meta.main) writeFileSync(WIRE, renderWire());
