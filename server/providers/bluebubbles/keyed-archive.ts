/** Reads NSKeyedArchiver archives in JSON form. Pure. Bounded in depth and steps, so that no archive loops forever. */

import { recordOf, textOf } from "../../core/loose-json.ts";

/** Dictionary of an archive. Keeps texts, URLs and nested dictionaries, and drops all other values. */
export type Archived = ReadonlyMap<string, Archived | string>;

/** Maximum depth of dictionaries: a payment has two levels. */
const DEPTH_MAX = 8;
/** Maximum objects visited, repeats included: a payment has forty. */
const STEPS_MAX = 2_000;

/**
 * Returns the root dictionary of an archive, or of the first archive in a list; null for anything else. Never throws.
 * References that lead nowhere are left out.
 */
export function readArchive(value: unknown): Archived | null {
  const archive = recordOf(Array.isArray(value) ? value[0] : value);
  if (archive === null || !Array.isArray(archive.$objects)) return null;
  const walk: ArchiveWalk = { objects: archive.$objects, steps: 0 };
  const root = follow(walk, recordOf(archive.$top)?.root, 0);
  return root === null || typeof root === "string" ? null : root;
}

interface ArchiveWalk {
  objects: readonly unknown[];
  steps: number;
}

/** Resolves `{"UID": n}` to the n-th object. 0 is `$null`. */
function follow(walk: ArchiveWalk, reference: unknown, depth: number): Archived | string | null {
  const uid = recordOf(reference)?.UID;
  if (typeof uid !== "number" || !Number.isInteger(uid) || uid < 1 || uid >= walk.objects.length) return null;
  walk.steps += 1;
  if (depth > DEPTH_MAX || walk.steps > STEPS_MAX) return null;
  const object = walk.objects[uid];
  const record = recordOf(object);
  if (record === null) return textOf(object);
  if (Array.isArray(record["NS.keys"])) return dictionary(walk, record, depth);
  // Boxed texts and URLs. The base of a relative URL is ignored.
  return textOf(record["NS.string"]) ?? follow(walk, record["NS.relative"], depth + 1);
}

function dictionary(walk: ArchiveWalk, record: Record<string, unknown>, depth: number): Archived {
  const keys = record["NS.keys"] as readonly unknown[];
  const values = Array.isArray(record["NS.objects"]) ? record["NS.objects"] : [];
  const read = new Map<string, Archived | string>();
  for (const [index, reference] of keys.entries()) {
    if (walk.steps > STEPS_MAX) break;
    const key = follow(walk, reference, depth + 1);
    const value = follow(walk, values[index], depth + 1);
    if (typeof key === "string" && value !== null) read.set(key, value);
  }
  return read;
}
