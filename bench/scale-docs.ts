/** Writes the tables of docs/scale.md: part of `npm run docs`. */

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { scaleTables, withTables } from "./scale-model.ts";

export const SCALE_DOCS = fileURLToPath(new URL("../docs/scale.md", import.meta.url));

if (import.meta.main) writeFileSync(SCALE_DOCS, withTables(readFileSync(SCALE_DOCS, "utf8"), scaleTables()));
