/** Rows of the Mac's messages, asked for by guid: the Mac's own word, whoever named them. */

import type { Failure, Limits, MacClient } from "./client.ts";
import { type MacMessage, parseMessages } from "./records.ts";

/** Guids in one question: the Mac answers 1,000 rows at most (`messageValidator`). */
export const GUIDS_MAX = 500;

/** What is asked for with each row; where that is too little for one, all of it is asked for alone. */
export const ROW_PARTS: readonly string[] = ["chat", "attachment"];

/** The rows with these guids, the oldest first; of a guid that the Mac does not have there is none. At most `GUIDS_MAX`. */
export async function fetchRows(
  client: MacClient,
  guids: readonly string[],
  limits: Limits,
): Promise<{ kind: "rows"; rows: readonly MacMessage[] } | Failure> {
  const where = [{ statement: "message.guid IN (:...guids)", args: { guids } }];
  const body = { limit: GUIDS_MAX, offset: 0, sort: "ASC", with: ROW_PARTS, where };
  const answer = await client.query("/message/query", body, limits);
  return answer.kind === "ok" ? { kind: "rows", rows: parseMessages(answer.data) } : answer;
}
