/** What customers order of a message that was sent: edit it, take it back, react to it. The phone first, then the record. */

import { REACTIONS } from "../../../sdk/wire.ts";
import { ApiError, invalidField } from "../../core/error.ts";
import type { CustomerId, MessageId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import { cancel, erase, retry, unsend } from "../../core/message-lifecycle.ts";
import { edit, failEdit } from "../../core/message-revision.ts";
import { type ParsedReaction, parseReaction, REACTION_EXPECTED } from "../../core/reaction.ts";
import type { ActionResult, ActionTarget } from "../../providers/provider.ts";
import { findChat } from "../../store/chats.ts";
import { findMessageOf } from "../../store/messages.ts";
import type { Operation } from "../../store/store.ts";
import { type ActionSubject, RECORD_MS_MAX, recordAction, runAction, runInTurn } from "../action.ts";
import { conversationOf } from "../chats/conversation.ts";
import { prepareThread } from "../chats/threads.ts";
import { commitInTime } from "../commit.ts";
import type { Deps } from "../deps.ts";
import { changeContext, type With } from "../engine-deps.ts";
import { idempotent } from "../idempotency.ts";
import { planOf, wayNow } from "../routing/route.ts";
import { changeMessage, transactionOf } from "./change-message.ts";
import { requireMessage, reread } from "./find.ts";
import { isStranded } from "./prepare.ts";

/** What is ordered of a message, in words. */
type Order = "edited" | "unsent" | "reacted to";

/**
 * Gives a message of the customer's another text, on the recipient's phone and here, and answers it. `forOldPhones` is
 * what a phone shows that knows no edits. Throws 502 `EDIT_FAILED`, with `message.edit_failed`, where it is refused.
 */
export async function editMessage(
  deps: With<"link" | "messageCache" | "providers" | "threadCache">,
  { customerId, id, text, forOldPhones }: ActionSubject & { text: string; forOldPhones: string },
): Promise<Message> {
  return runInTurn(deps, { customerId, id }, async () => {
    const message = await requireOrderable(deps, { customerId, id }, "edited");
    const target = await targetOf(deps, message);
    const refused = await editRefusal(() =>
      runAction(deps, message.instanceId, "edit", (ask, abort) => ask(target, text, forOldPhones, abort)),
    );
    const changed = await commitInTime(deps, deps.clock.real() + RECORD_MS_MAX, () =>
      changeMessage(deps, message, (fresh) => {
        const told = changeContext(deps);
        return refused === null ? edit(fresh, text, told) : failEdit(fresh, refused, told);
      }),
    );
    if (refused !== null) throw new ApiError("EDIT_FAILED", `${id} could not be edited: ${refused}.`);
    // Deleted while the phone did it: there is no record any more to answer with.
    return changed.deletedAt === null ? changed : requireMessage(deps, customerId, id);
  });
}

/** Why the phone refused an edit; null when it did it. What breaks at the provider counts as refused. */
async function editRefusal(ask: () => Promise<ActionResult>): Promise<string | null> {
  try {
    const ordered = await ask();
    return ordered.done ? null : ordered.reason;
  } catch (error) {
    if (error instanceof ApiError && error.code === "PROVIDER_ERROR") return "the provider failed to do it";
    throw error;
  }
}

/**
 * Takes a message of the customer's back, on the recipient's phone and here, and answers it; a repeat of an idempotency
 * key answers it as it now is. Throws 502 `PROVIDER_ERROR` where it is refused.
 */
export async function unsendMessage(
  deps: With<"link" | "messageCache" | "providers" | "threadCache">,
  { customerId, id, idempotencyKey: key }: ActionSubject & { idempotencyKey: string | null },
): Promise<Message> {
  return runInTurn(deps, { customerId, id }, async () => {
    let isDone = false;
    const record = () =>
      idempotent(deps, { key, customerId, route: `POST /v1/messages/${id}/unsend`, body: {} }, async () => {
        const message = await requireOrderable(deps, { customerId, id }, "unsent");
        if (!isDone) {
          const target = await targetOf(deps, message);
          requireDone(await runAction(deps, message.instanceId, "unsend", (ask, abort) => ask(target, abort)), id);
          isDone = true;
        }
        const change = unsend(message, changeContext(deps));
        if (change === null) throw new Error(`${id} is ${message.status} and was taken back all the same`);
        const unsent = { ...change.message, version: message.version + 1 };
        return { unit: transactionOf(message, change), value: unsent, result: message.id };
      });
    const commanded = await recordAction(deps, record, () => isDone);
    if (commanded.repeated) return reread(deps, commanded.result as MessageId);
    deps.messageCache.keep(commanded.value);
    return commanded.value;
  });
}

/**
 * Reacts to a message of either side, or takes that back. Nothing is recorded of it but its idempotency key. Answers the
 * reaction as it was made: an emoji in its full form. Throws 400 `CHANNEL_NOT_SUPPORTED` for an emoji that the
 * message's provider cannot send.
 */
export async function reactTo(
  deps: With<"providers" | "threadCache">,
  order: ActionSubject & { reaction: string; idempotencyKey: string | null },
): Promise<string> {
  const { customerId, id, idempotencyKey: key } = order;
  const parsed = parseReaction(order.reaction);
  if (parsed === null) throw invalidField("type", REACTION_EXPECTED);
  const { text: reaction } = parsed;
  await runInTurn(deps, { customerId, id }, async () => {
    let isDone = false;
    const record = () =>
      idempotent(
        deps,
        { key, customerId, route: `POST /v1/messages/${id}/reactions`, body: { reaction } },
        async () => {
          if (!isDone) {
            const message = await requireOrderable(deps, { customerId, id }, "reacted to");
            requireSendable(deps, message, parsed);
            const target = await targetOf(deps, message);
            requireDone(
              await runAction(deps, message.instanceId, "react", (ask, abort) => ask(target, reaction, abort)),
              id,
            );
            isDone = true;
          }
          return { unit: null, value: null, result: id };
        },
      );
    await recordAction(deps, record, () => isDone);
  });
  return reaction;
}

/** Throws 400 `CHANNEL_NOT_SUPPORTED` for an emoji where the provider of the message can send one of the six only. */
function requireSendable(
  { providers }: With<"providers">,
  { id, instanceId }: Message,
  { named, emoji }: ParsedReaction,
): void {
  const provider = providers.get(instanceId);
  if (named !== null || provider === undefined || provider.capabilities.emojiReactions === true) return;
  const message = `cannot be ${emoji}: the provider of ${id} (${provider.name}) can send ${REACTIONS.join(", ")} only`;
  throw new ApiError("CHANNEL_NOT_SUPPORTED", `type: ${message}.`, { details: [{ path: "type", message }] });
}

/** Statuses in which a message is on its recipient's phone, or on its way there; of an inbound one, on ours. */
const ON_PHONE: readonly Message["status"][] = ["sent", "delivered", "read", "received"];

/** The message, read anew, where it can be `order`. Throws an `ApiError` for what is refused. */
async function requireOrderable(deps: Deps, { customerId, id }: ActionSubject, order: Order): Promise<Message> {
  const message = await requireMessage(deps, customerId, id);
  const { channel, direction, status } = message;
  if (channel !== "imessage") {
    throw new ApiError("CHANNEL_NOT_SUPPORTED", `${id} goes by ${channel}; only an iMessage can be ${order}.`);
  }
  if (direction === "inbound" && order !== "reacted to") {
    throw new ApiError("INVALID_STATUS", `${id} was written by a contact; only a message of yours can be ${order}.`);
  }
  if (status === "unsent") throw new ApiError("ALREADY_UNSENT", `${id} was taken back already.`);
  if (!ON_PHONE.includes(status)) {
    throw new ApiError("INVALID_STATUS", `${id} is ${status}; a message can be ${order} once it was sent.`);
  }
  return message;
}

/** The message as its provider knows it. */
async function targetOf(deps: With<"threadCache">, message: Message): Promise<ActionTarget> {
  const { id: messageId, providerMessageId: reference, text, channel } = message;
  if (reference === null) throw new ApiError("INVALID_STATUS", `${messageId} is not known to its provider.`);
  const chat = await chatOf(deps, message);
  return { messageId, reference, text, chat: conversationOf(chat, channel) };
}

async function chatOf(deps: With<"threadCache">, message: Message) {
  const { customerId, chatId, channel, instanceId } = message;
  const chat = chatId === null ? null : await findChat(deps.store.db, customerId, chatId);
  if (chat !== null) return chat;
  const [from, contact] = message.direction === "inbound" ? [message.to, message.from] : [message.from, message.to];
  return (await prepareThread(deps, { customerId, from, contact, channel, instanceId })).chat;
}

function requireDone(ordered: ActionResult, id: string): void {
  if (!ordered.done) throw new ApiError("PROVIDER_ERROR", `The provider refused it for ${id}: ${ordered.reason}.`);
}

/** What a retry needs to know beside the message. */
export interface Retrying {
  customerId: CustomerId;
  id: string;
  mayDuplicate: boolean;
  idempotencyKey: string | null;
}

/** Queues a failed message again and answers it. `repeated` when its idempotency key had done it before. */
export async function retryMessage(
  deps: With<"configCache" | "connections" | "link" | "messageCache" | "providers">,
  retrying: Retrying,
): Promise<{ repeated: boolean; message: Message }> {
  const { customerId, id, mayDuplicate, idempotencyKey: key } = retrying;
  const command = { key, customerId, route: `POST /v1/messages/${id}/retry`, body: { mayDuplicate } };
  const commanded = await idempotent(deps, command, async () => {
    const message = await requireMessage(deps, customerId, id);
    if (message.errorCode === "OUTCOME_UNKNOWN" && !mayDuplicate) {
      throw new ApiError(
        "OUTCOME_UNKNOWN",
        `${id} may have been sent; to send it all the same, retry with {"mayDuplicate":true}.`,
      );
    }
    if (message.payment !== null && message.status === "failed") {
      throw new ApiError(
        "INVALID_STATUS",
        `${id} asks for the payment ${message.payment.id}, which ended when it failed; make a new payment request.`,
      );
    }
    await requireRest(deps, message);
    const way = wayNow(deps, await planOf(deps, message), message);
    const change = retry(message, way, deps.settings.messageTtlMs, changeContext(deps));
    if (change === null)
      throw new ApiError(
        "INVALID_STATUS",
        `${id} is ${message.status}; only a failed message, or one that was sent without its files, can be retried.`,
      );
    return { unit: transactionOf(message, change), value: change.message, result: id };
  });
  if (!commanded.repeated) {
    deps.wake.messages([commanded.value.instanceId]);
    return { repeated: false, message: commanded.value };
  }
  return { repeated: true, message: await reread(deps, commanded.result as MessageId) };
}

/** Of a message of which a part was sent the rest can be sent by the same account alone: throws 400 where that is gone. */
async function requireRest(deps: With<"configCache" | "connections">, message: Message): Promise<void> {
  if (message.sentPart === null) return;
  const connection = deps.connections.of(message.instanceId);
  const isGone = (await deps.configCache.instance(message.instanceId)) === null;
  if (!isGone && (connection === null || !isStranded(message, connection))) return;
  const words = `${message.sentPart.what} of ${message.id} was sent by an account that is not connected any more`;
  throw new ApiError("INVALID_STATUS", `${words}, and no other can send the rest; send the files as a new message.`);
}

/** Statuses in which a message is under way: it cannot be deleted then. */
const UNDER_WAY: readonly Message["status"][] = ["queued", "pending"];

/** Deletes a message softly: a scheduled one is cancelled first, its text, media and files are erased. */
export async function deleteMessage(
  deps: With<"link" | "messageCache">,
  customerId: CustomerId,
  id: string,
): Promise<void> {
  const message = await findMessageOf(deps.store.db, customerId, id);
  if (message === null) throw new ApiError("NOT_FOUND", `There is no message ${id.slice(0, 100)}.`);
  await changeMessage(deps, message, (fresh) => {
    if (fresh.deletedAt !== null) throw new ApiError("ALREADY_DELETED", `${id} is deleted already.`);
    if (UNDER_WAY.includes(fresh.status)) {
      throw new ApiError(
        "INVALID_STATUS",
        `${id} is ${fresh.status}; it can be deleted once it was sent or has failed.`,
      );
    }
    const told = changeContext(deps);
    const cancelled = cancel(fresh, told);
    const erased = erase(cancelled?.message ?? fresh, told);
    const also: Operation[] = [{ op: "delete", table: "contents", where: { messageId: fresh.id } }];
    return { message: erased.message, events: [...(cancelled?.events ?? []), ...erased.events], also };
  });
}
