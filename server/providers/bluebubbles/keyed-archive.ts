/** NSKeyedArchiver archives as JSON: follows the ids in them, no further than they go and never in a circle. Pure. */

import { recordOf, textOf } from "../../core/loose-json.ts";

/** A dictionary of an archive by its keys; of values only texts, addresses and further dictionaries are kept. */
export type Archived = ReadonlyMap<string, Archived | string>;

/** Dictionaries within dictionaries: a balloon has two levels. */
const DEPTH_MAX = 8;
/** Objects that are looked at in all, repeats included: a balloon has forty. */
const STEPS_MAX = 2_000;

/**
 * The dictionary at the root of an archive, or of the first in a list of archives; null for anything else. Whatever
 * the archive holds, it ends soon and throws nothing: what leads nowhere is left out.
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

/** What `{"UID": n}` stands for: the n-th object. 0 is `$null`. */
function follow(walk: ArchiveWalk, reference: unknown, depth: number): Archived | string | null {
  const uid = recordOf(reference)?.UID;
  if (typeof uid !== "number" || !Number.isInteger(uid) || uid < 1 || uid >= walk.objects.length) return null;
  walk.steps += 1;
  if (depth > DEPTH_MAX || walk.steps > STEPS_MAX) return null;
  const object = walk.objects[uid];
  const record = recordOf(object);
  if (record === null) return textOf(object);
  if (Array.isArray(record["NS.keys"])) return dictionary(walk, record, depth);
  // A text that is an object of its own, and an address; what an address is relative to is not looked at.
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
