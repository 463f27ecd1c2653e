/** Reads of messages for a restore: those that it may have to hold, and those whose outcome is unknown. */

import { type Kysely, sql } from "kysely";
import type { MessageId } from "../core/id.ts";
import type { Message } from "../core/message.ts";
import { decodeRows, isNotQuarantined } from "./quarantine.ts";
import type { Database } from "./rows.ts";
import { perDialect } from "./sql-dialects.ts";

/** The messages of a page, and the id of the last row that was read; null at the end. */
export interface RestorablePage {
  messages: Message[];
  last: MessageId | null;
}

/**
 * Messages that may have gone further since a backup, in the order of their ids. Reads the whole table, page by page.
 */
export async function listRestorable(
  db: Kysely<Database>,
  after: MessageId | null,
  limit: number,
): Promise<RestorablePage> {
  const rows = await db
    .selectFrom("messages")
    .selectAll()
    .where("id", ">", after ?? ("" as MessageId))
    .where(
      sql<boolean>`(status in ('scheduled', 'queued', 'pending')
        or status = 'sent' and (due_at is not null or "fallback" = 1 and channels_left <> '[]'))`,
    )
    .where(isNotQuarantined("messages"))
    .orderBy("id")
    .limit(limit)
    .execute();
  const last = rows.length < limit ? null : ((rows.at(-1)?.id ?? null) as MessageId | null);
  return { messages: decodeRows(db, "messages", rows), last };
}

/** Written like the condition of the index `messages_unknown`, which a bound status would not use. */
const IS_UNKNOWN = perDialect(sql<boolean>`status = 'pending' and due_at is not null`, sql<boolean>`is_unknown = 1`);

/** Messages whose send attempt has an unknown outcome, from the newest or the oldest on. */
export async function listUnknown(
  db: Kysely<Database>,
  order: "newest" | "oldest",
  from: string | null,
  limit: number,
): Promise<Message[]> {
  let query = db
    .selectFrom("messages")
    .selectAll()
    .where(IS_UNKNOWN)
    .where(isNotQuarantined("messages"))
    .orderBy("id", order === "newest" ? "desc" : "asc")
    .limit(limit);
  if (from !== null) query = query.where("id", order === "newest" ? "<" : ">", from as MessageId);
  return decodeRows(db, "messages", await query.execute());
}
