/** Runs actions on chats, one at a time for each chat: calls the provider first, then commits the change. */

import type { Chat } from "../../core/chat.ts";
import { ApiError } from "../../core/error.ts";
import type { GroupChange, GroupContext } from "../../core/group.ts";
import type { ActionResult, Actions } from "../../providers/provider.ts";
import type { Operation } from "../../store/store.ts";
import { recordAction, runAction, runInTurn } from "../action.ts";
import type { With } from "../engine-deps.ts";
import { idempotent } from "../idempotency.ts";
import { changedChat, regroupContext } from "./groups.ts";
import { type ChatName, type ReadyChat, readyChat, requireChat } from "./require-chat.ts";

/** A request for an action on a chat. */
export interface ChatActionRequest extends ChatName {
  idempotencyKey: string | null;
  correlationId: string;
}

/** An action: `ask` calls the provider, skips the call, or throws; `change` returns the changed chat. */
export interface ChatAction {
  /** The method, and the path after the chat's path. */
  route: [method: "POST" | "PUT" | "DELETE", path: string];
  body: unknown;
  ask(ready: ReadyChat): Promise<unknown>;
  change?(chat: Chat, deps: GroupContext): GroupChange;
}

/** The chat after an action; `repeated` if an earlier request with the same idempotency key performed it. */
export interface ChatActionResult {
  repeated: boolean;
  chat: Chat;
}

/**
 * Runs an action. The provider is called once, even if the record changes in the meantime. If the provider's own signal
 * of the change is applied first, the signal emits the event. Throws what `requireChat`, `readyChat` and `ask` throw.
 */
export async function runChatAction(
  deps: With<"configCache" | "threadCache">,
  asked: ChatActionRequest,
  work: ChatAction,
): Promise<ChatActionResult> {
  const { customerId, idempotencyKey: key, correlationId } = asked;
  const { id } = await requireChat(deps, asked);
  const [method, path] = work.route;
  return await runInTurn(deps, { customerId, id }, async () => {
    let isDone = false;
    const request = { key, customerId, route: `${method} /v1/chats/${id}${path}`, body: work.body };
    const record = () =>
      idempotent(deps, request, async () => {
        const chat = await requireChat(deps, { customerId, id });
        if (!isDone) await work.ask(await readyChat(deps, chat));
        isDone = true;
        const change = work.change?.(chat, regroupContext(deps, correlationId)) ?? { chat, events: [] };
        const { transaction, value } = changedChat(chat, change.chat);
        const events = change.events.map((event): Operation => ({ op: "event", event, callbackUrl: null }));
        const operations = [...transaction, ...events];
        return { transaction: operations.length === 0 ? null : operations, value, result: id };
      });
    const result = await recordAction(deps, record, () => isDone);
    if (!result.repeated) return { repeated: false, chat: result.value };
    return { repeated: true, chat: await requireChat(deps, { customerId, id: result.firstResult }) };
  });
}

/** Names of the actions whose result says whether they were done. */
type ActionName = {
  [Name in keyof Actions]: ReturnType<Actions[Name]> extends Promise<ActionResult> ? Name : never;
}[keyof Actions];

/** Runs a provider action for a chat. Throws 502 `PROVIDER_ERROR` with the reason if the provider refuses. */
export async function completeAction<Name extends ActionName>(
  deps: With<"providers">,
  { instanceId }: Pick<ReadyChat, "instanceId">,
  name: Name,
  ask: (
    request: (...given: Parameters<Actions[Name]>) => ReturnType<Actions[Name]>,
    abort: AbortSignal,
  ) => Promise<ActionResult>,
): Promise<void> {
  const ordered = await runAction(deps, instanceId, name, ask);
  if (!ordered.done) throw new ApiError("PROVIDER_ERROR", `The provider refused: ${ordered.reason}.`);
}

/** Throws 400 `CHANNEL_NOT_SUPPORTED` for an SMS chat. `what` names the feature that SMS lacks. */
export function requireImessage({ chat, conversation }: ReadyChat, what: string): void {
  if (conversation.channel === "imessage") return;
  throw new ApiError("CHANNEL_NOT_SUPPORTED", `${chat.id} goes over SMS, which has no ${what}.`);
}
