/** Binds the cursors of a list to the list and its filters: a cursor of another list would begin a page somewhere else in silence. */

import { createHash } from "node:crypto";
import { invalidField } from "../../core/error.ts";

/** Parameters that say where a page begins, and do not filter. A feed or a list that began after a place goes on by its cursor alone. */
const PLACES: ReadonlySet<string> = new Set(["limit", "cursor", "offset", "after", "updatedAfter"]);

/** Characters in front of a cursor that stand for its list: 48 bits. */
const TAG_LENGTH = 8;

/** The tag of a list: of its path, the parameters of the path, and its filters. */
export function listTag(path: string, params: unknown, query: object): string {
  const filters = Object.entries(query).filter(([name, value]) => value !== undefined && !PLACES.has(name));
  const list = JSON.stringify([path, params, filters.sort(([a], [b]) => (a < b ? -1 : 1))]);
  return createHash("sha256").update(list).digest("base64url").slice(0, TAG_LENGTH);
}

/** The cursor without its tag. Throws 400 for text that is no cursor of this list with these filters. */
export function openCursor(tag: string, cursor: string): string {
  if (cursor.startsWith(tag)) return cursor.slice(tag.length);
  throw invalidField("cursor", "must be the nextCursor of an earlier answer of this list, with the same filters");
}

/** The data of a page with its `nextCursor` bound to the list. Data without one stays as it is. */
export function sealPage(tag: string, data: unknown): unknown {
  if (typeof data !== "object" || data === null || !("pagination" in data)) return data;
  const { pagination } = data;
  if (typeof pagination !== "object" || pagination === null || !("nextCursor" in pagination)) return data;
  const { nextCursor } = pagination;
  if (typeof nextCursor !== "string") return data;
  return { ...data, pagination: { ...pagination, nextCursor: `${tag}${nextCursor}` } };
}
