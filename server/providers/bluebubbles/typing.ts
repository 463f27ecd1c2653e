/** Who types on a contact's phone, as the Mac tells it. Pure. */

import { recordOf, textOf } from "../../core/loose-json.ts";
import { isGroupChat } from "./records.ts";

/** A contact begins or ends typing, in the thread with this guid. */
export interface Typing {
  chatGuid: string;
  from: string;
  typing: boolean;
}

/** What a `typing-indicator` tells; null for a group's, which does not say who, and for anything else. */
export function typingOf(data: unknown): Typing | null {
  const record = recordOf(data);
  const chatGuid = textOf(record?.guid);
  if (chatGuid === null || typeof record?.display !== "boolean") return null;
  const [, kind, ...rest] = chatGuid.split(";");
  const from = rest.join(";");
  if (kind === undefined || from === "" || isGroupChat({ guid: chatGuid, style: null })) return null;
  return { chatGuid, from, typing: record.display };
}
