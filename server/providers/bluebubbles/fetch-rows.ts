/** Fetches rows of the Mac's message table by guid. */

import type { Failure, Limits, MacClient } from "./client.ts";
import { type MacMessage, parseMessages } from "./records.ts";

/** Maximum guids of one query: the Mac returns at most 1,000 rows (`messageValidator`). */
export const GUIDS_MAX = 500;

/** Relations fetched with each row. If a row needs more, the whole message is fetched by itself. */
export const ROW_PARTS: readonly string[] = ["chat", "attachment", "attributed-body"];

/** Returns the rows with these guids, the oldest first. A guid unknown to the Mac has no row. Takes at most `GUIDS_MAX`. */
export async function fetchRows(
  client: MacClient,
  guids: readonly string[],
  limits: Limits,
): Promise<{ kind: "rows"; rows: readonly MacMessage[] } | Failure> {
  const where = [{ statement: "message.guid IN (:...guids)", args: { guids } }];
  const body = { limit: GUIDS_MAX, offset: 0, sort: "ASC", with: ROW_PARTS, where };
  const response = await client.query("/message/query", body, limits);
  return response.kind === "ok" ? { kind: "rows", rows: parseMessages(response.data) } : response;
}
