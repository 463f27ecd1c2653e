/** Reads of stored files. */

import type { Kysely } from "kysely";
import type { Content } from "../core/attachment.ts";
import type { AttachmentId } from "../core/id.ts";
import { type Database, decode } from "./rows.ts";

/** A file without its bytes, and whether the bytes are stored here. */
export type ContentHead = Omit<Content, "data"> & { isHere: boolean };

/** The head of a file of any customer; null if the file is not stored. */
export async function findContentHead(db: Kysely<Database>, id: AttachmentId): Promise<ContentHead | null> {
  const row = await db
    .selectFrom("contents")
    .select(["id", "customer_id", "message_id", "mime_type", "filename", "total_bytes"])
    .select(["instance_id", "reference", "created_at"])
    .select((column) => column("data", "is not", null).as("is_here"))
    .where("id", "=", id)
    .executeTakeFirst();
  if (row === undefined) return null;
  const { is_here: isHere, ...known } = row;
  return { ...decode("contents", known), isHere: Boolean(isHere) };
}

/** The bytes of a file; null if they are not stored here. */
export async function readContent(db: Kysely<Database>, id: AttachmentId): Promise<Uint8Array | null> {
  const row = await db.selectFrom("contents").select("data").where("id", "=", id).executeTakeFirst();
  return row?.data ?? null;
}
