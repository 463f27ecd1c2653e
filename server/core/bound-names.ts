/**
 * Bounds the names that providers give: references, addresses and ids of calls. They are keys of indexes, and PostgreSQL refuses an entry of
 * more than 2,704 bytes. Two long names that begin alike stay two. Pure.
 */

import { createHash } from "node:crypto";
import { mapTexts } from "./map-texts.ts";

/** Longest name, in UTF-16 units: at most 1,536 bytes of UTF-8. */
export const NAME_UNITS_MAX = 512;
const DIGEST_UNITS = 64;

/** A name as it is or, if it is longer than 512 UTF-16 units, its beginning, `…` and its SHA-256 in hex: the same name for the same name. */
export function boundName(name: string): string {
  if (name.length <= NAME_UNITS_MAX) return name;
  const beginning = name.slice(0, NAME_UNITS_MAX - DIGEST_UNITS - 1).replace(/[\ud800-\udbff]$/, "");
  return `${beginning}…${createHash("sha256").update(name).digest("hex")}`;
}

/** Properties of signals and outcomes that are names, or lists of names. */
const NAMES: ReadonlySet<string> = new Set([
  "actor",
  "callUuid",
  "caller",
  "contact",
  "from",
  "participant",
  "participants",
  "reference",
  "replyTo",
  "target",
  "to",
]);
/** Properties that hold further names. Not `attachments`: their references are keys of no index, and files are fetched by them. */
const HOLDERS: ReadonlySet<string> = new Set(["group", "note", "part", "rest"]);

/** A signal or an outcome with every name bounded. One without a long name is returned itself. */
export function boundNames<Value extends object>(value: Value): Value {
  const changed = Object.entries(value).flatMap(([property, held]) => {
    const bound = boundHeld(property, held);
    return bound === held ? [] : [[property, bound] as const];
  });
  return changed.length === 0 ? value : { ...value, ...Object.fromEntries(changed) };
}

function boundHeld(property: string, held: unknown): unknown {
  if (NAMES.has(property)) return mapTexts(held, boundName);
  return HOLDERS.has(property) && typeof held === "object" && held !== null ? boundNames(held) : held;
}
