/** Finds the row of a message of ours whose guid nobody told: by chat, time and text, among those of no other. */

import { type MacAttempt, matchesText, UNKNOWN_FILES } from "./attempt-journal.ts";
import { identifierOf, isSamePeople } from "./chat-guids.ts";
import type { Failure, MacClient } from "./client.ts";
import { type MacMessage, parseMessages } from "./records.ts";

/** What is known beside the attempt. */
export interface RowSearch {
  /** The text, where it is at hand: a row of exactly it goes before one that is like it. */
  text: string | null;
  /** Not before this, by the Mac's clock. */
  afterAt: number;
  /** Only rows that failed. */
  failedOnly: boolean;
  /** Whether a row is another message's. */
  isKnownRow: (guid: string) => boolean;
}

/** The Mac answers at most so many rows at once; of more than all of these nobody knows. */
const ROWS_MAX = 1_000;
const PAGES_MAX = 20;

/**
 * The first such row, null where there is none, or why nobody knows. A Mac that slept does what it had read whenever it
 * wakes, so that there is no latest time. No text is part of the question: the Mac's `where` is SQL, and one with a text
 * goes to a search that takes it apart.
 */
export async function findRow(
  client: MacClient,
  attempt: MacAttempt,
  hints: RowSearch,
): Promise<MacMessage | null | Failure> {
  const identifier = identifierIn(attempt);
  const where: object[] = [{ statement: "message.is_from_me = :fromMe", args: { fromMe: 1 } }];
  if (identifier !== null) where.push({ statement: "chat.chat_identifier = :chat", args: { chat: identifier } });
  if (hints.failedOnly) where.push({ statement: "message.error != :none", args: { none: 0 } });
  const after = Math.max(0, Math.floor(hints.afterAt));
  const joined = identifier === null ? ["chat", "chat.participants", "attachment"] : ["chat", "attachment"];
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const range = { after, sort: "ASC", limit: ROWS_MAX, offset: page * ROWS_MAX };
    const answer = await client.query("/message/query", { ...range, with: joined, where });
    if (answer.kind !== "ok") return answer;
    const rows = parseMessages(answer.data).filter((row) => isCandidate(row, attempt, hints));
    const wanted = attempt.step === "files" ? "" : hints.text;
    const found = rows.find(({ text }) => (text ?? "") === wanted) ?? rows.find((row) => isLike(row, attempt));
    if (found !== undefined) return found;
    if (!Array.isArray(answer.data) || answer.data.length < ROWS_MAX) return null;
  }
  return { kind: "answered", status: 200, type: null, message: "more rows than can be looked at" };
}

/** The chat as `chat_identifier` names it; null of a group that has no guid yet. */
function identifierIn({ chatGuid, isGroup, to }: MacAttempt): string | null {
  if (chatGuid !== null) return identifierOf(chatGuid);
  return isGroup ? null : (to[0] ?? null);
}

function isCandidate(row: MacMessage, attempt: MacAttempt, { failedOnly, isKnownRow }: RowSearch): boolean {
  if (!row.isFromMe || row.itemType !== 0 || row.associatedMessageGuid !== null || isKnownRow(row.guid)) return false;
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
