/** Finds the row of an attempt whose guid is not known: by chat, date and text, among rows of no other attempt. */

import { type MacAttempt, matchesText, UNKNOWN_FILES } from "./attempt-note.ts";
import { identifierOf, isSamePeople } from "./chat-guids.ts";
import type { Failure, MacClient } from "./client.ts";
import { type MacMessage, parseMessages } from "./records.ts";

/** Search criteria besides the attempt. */
export interface RowSearch {
  /** Text of the message; null if not known. A row with exactly this text precedes rows with a matching digest. */
  text: string | null;
  /** Earliest date, by the Mac's clock. */
  afterAt: number;
  /** Whether to find only rows that failed. */
  failedOnly: boolean;
  /** Those of the rows that belong to another attempt. */
  othersOf: (guids: readonly string[]) => Promise<ReadonlySet<string>>;
}

/** Rows per page, the Mac's maximum, and pages searched. With more rows the result stays unknown. */
const ROWS_MAX = 1_000;
const PAGES_MAX = 20;

/**
 * Returns the first matching row, null if there is none, or a failure. There is no latest date: a Mac that slept completes
 * earlier requests when it wakes. The query contains no text, because BlueBubbles rewrites text conditions into a search
 * that splits the text into words.
 */
export async function findRow(
  client: MacClient,
  attempt: MacAttempt,
  search: RowSearch,
): Promise<MacMessage | null | Failure> {
  const identifier = identifierIn(attempt);
  const where: object[] = [{ statement: "message.is_from_me = :fromMe", args: { fromMe: 1 } }];
  if (identifier !== null) where.push({ statement: "chat.chat_identifier = :chat", args: { chat: identifier } });
  if (search.failedOnly) where.push({ statement: "message.error != :none", args: { none: 0 } });
  const after = Math.max(0, Math.floor(search.afterAt));
  const joined = identifier === null ? ["chat", "chat.participants", "attachment"] : ["chat", "attachment"];
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const range = { after, sort: "ASC", limit: ROWS_MAX, offset: page * ROWS_MAX };
    const response = await client.query("/message/query", { ...range, with: joined, where });
    if (response.kind !== "ok") return response;
    const candidates = parseMessages(response.data).filter((row) => isCandidate(row, attempt, search));
    const others = await search.othersOf(candidates.map(({ guid }) => guid));
    const rows = candidates.filter(({ guid }) => !others.has(guid));
    const wanted = attempt.step === "files" ? "" : search.text;
    const found = rows.find(({ text }) => (text ?? "") === wanted) ?? rows.find((row) => isLike(row, attempt));
    if (found !== undefined) return found;
    if (!Array.isArray(response.data) || response.data.length < ROWS_MAX) return null;
  }
  return { kind: "errorResponse", status: 200, type: null, message: "too many rows to search" };
}

/** The chat's `chat_identifier`; null for a group without a guid yet. */
function identifierIn({ chatGuid, isGroup, to }: MacAttempt): string | null {
  if (chatGuid !== null) return identifierOf(chatGuid);
  return isGroup ? null : (to[0] ?? null);
}

function isCandidate(row: MacMessage, attempt: MacAttempt, { failedOnly }: RowSearch): boolean {
  if (!row.isFromMe || row.itemType !== 0 || row.associatedMessageGuid !== null) return false;
  if (failedOnly && row.error === 0) return false;
  const hasFiles = row.attachments.length > 0;
  if (attempt.files !== UNKNOWN_FILES && hasFiles !== attempt.files > 0) return false;
  if (identifierIn(attempt) !== null) return true;
  const peopleOf = (chat: MacMessage["chats"][number]) => chat.participants.map(({ address }) => address);
  return row.chats.some((chat) => isSamePeople(peopleOf(chat), attempt.to));
}

function isLike({ text }: MacMessage, attempt: MacAttempt): boolean {
  return attempt.step === "files" ? (text ?? "").trim() === "" : matchesText(attempt, text ?? "");
}
