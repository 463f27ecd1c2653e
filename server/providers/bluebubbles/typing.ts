/** Reads typing events of contacts. Pure. */

import { recordOf, textOf } from "../../core/loose-json.ts";
import { isGroupChat } from "./records.ts";

/** A contact began or stopped typing in a thread. */
export interface Typing {
  chatGuid: string;
  from: string;
  typing: boolean;
}

/** Parses a `typing-indicator`. Returns null for a group, whose events do not name the person, and for anything else. */
export function typingOf(data: unknown): Typing | null {
  const record = recordOf(data);
  const chatGuid = textOf(record?.guid);
  if (chatGuid === null || typeof record?.display !== "boolean") return null;
  const [, kind, ...rest] = chatGuid.split(";");
  const from = rest.join(";");
  if (kind === undefined || from === "" || isGroupChat({ guid: chatGuid, style: null })) return null;
  return { chatGuid, from, typing: record.display };
}
