/** Actions of customers on their messages: edit, unsend and react change the phone first, then the record; retry and delete change the record. */

import { REACTIONS } from "../../../sdk/wire.ts";
import { ApiError, invalidField, refusedField } from "../../core/error.ts";
import type { CustomerId, MessageId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import { cancel, erase, retry, unsend } from "../../core/message-lifecycle.ts";
import { edit, failEdit } from "../../core/message-revision.ts";
import { timeToLiveOf } from "../../core/message-routing.ts";
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
import { aheadIn, changeMessage, transactionOf } from "./change-message.ts";
import { forgetNote } from "./end-attempt.ts";
import { requireMessage, reread } from "./find.ts";
import { isStranded } from "./prepare.ts";

/** An action as a participle, for error messages. */
type ActionVerb = "edited" | "unsent" | "reacted to";

/**
 * Edits the text of a customer's message, on the recipient's phone and here, and returns the message. `forOldPhones` is shown by
 * phones that do not support edits. Throws 502 `EDIT_FAILED`, with `message.edit_failed`, if the edit is refused.
 */
export async function editMessage(
  deps: With<"link" | "messageCache" | "providers" | "threadCache">,
  { customerId, id, text, forOldPhones }: ActionSubject & { text: string; forOldPhones: string },
): Promise<Message> {
  return runInTurn(deps, { customerId, id }, async () => {
    const message = await requireActionable(deps, { customerId, id }, "edited");
    const target = await targetOf(deps, message);
    const refused = await editRefusal(() =>
      runAction(deps, message.instanceId, "edit", (ask, abort) => ask(target, text, forOldPhones, abort)),
    );
    const changed = await commitInTime(deps, deps.clock.monotonic() + RECORD_MS_MAX, () =>
      changeMessage(deps, message, (fresh) => {
        const context = changeContext(deps);
        return refused === null ? edit(fresh, text, context) : failEdit(fresh, refused, context);
      }),
    );
    if (refused !== null) throw new ApiError("EDIT_FAILED", `${id} could not be edited: ${refused}.`);
    // The message was deleted while the phone edited it: there is no record to respond with.
    return changed.deletedAt === null ? changed : requireMessage(deps, customerId, id);
  });
}

/** Why the phone refused an edit; null if it was edited. A failure of the provider counts as a refusal. */
async function editRefusal(ask: () => Promise<ActionResult>): Promise<string | null> {
  try {
    const result = await ask();
    return result.done ? null : result.reason;
  } catch (error) {
    if (error instanceof ApiError && error.code === "PROVIDER_ERROR")
      return "the provider could not complete the action";
    throw error;
  }
}

/**
 * Unsends a customer's message, on the recipient's phone and here, and returns the message. A repeat of an idempotency
 * key returns the message's present state. Throws 502 `PROVIDER_ERROR` if the unsend is refused.
 */
export async function unsendMessage(
  deps: With<"link" | "messageCache" | "providers" | "threadCache">,
  { customerId, id, idempotencyKey: key }: ActionSubject & { idempotencyKey: string | null },
): Promise<Message> {
  return runInTurn(deps, { customerId, id }, async () => {
    let isDone = false;
    const record = () =>
      idempotent(deps, { key, customerId, route: `POST /v1/messages/${id}/unsend`, body: {} }, async () => {
        const message = await requireActionable(deps, { customerId, id }, "unsent");
        if (!isDone) {
          const target = await targetOf(deps, message);
          requireDone(await runAction(deps, message.instanceId, "unsend", (ask, abort) => ask(target, abort)), id);
          isDone = true;
        }
        const change = aheadIn(deps, message, unsend(message, changeContext(deps)));
        if (change === null) throw new Error(`${id} is ${message.status} and was unsent all the same`);
        const unsent = { ...change.message, version: message.version + 1 };
        return { transaction: transactionOf(message, change), value: unsent, result: message.id };
      });
    const result = await recordAction(deps, record, () => isDone);
    if (result.repeated) return reread(deps, result.firstResult as MessageId);
    deps.messageCache.keep(result.value);
    return result.value;
  });
}

/**
 * Reacts to a message in either direction, or removes the reaction. Records only the idempotency key. Returns the
 * reaction, an emoji in its full form. Throws 400 `CHANNEL_NOT_SUPPORTED` for an emoji that the provider cannot send.
 */
export async function reactTo(
  deps: With<"providers" | "threadCache">,
  request: ActionSubject & { reaction: string; idempotencyKey: string | null },
): Promise<string> {
  const { customerId, id, idempotencyKey: key } = request;
  const parsed = parseReaction(request.reaction);
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
            const message = await requireActionable(deps, { customerId, id }, "reacted to");
            requireSendable(deps, message, parsed);
            const target = await targetOf(deps, message);
            requireDone(
              await runAction(deps, message.instanceId, "react", (ask, abort) => ask(target, reaction, abort)),
              id,
            );
            isDone = true;
          }
          return { transaction: null, value: null, result: id };
        },
      );
    await recordAction(deps, record, () => isDone);
  });
  return reaction;
}

/** Throws 400 `CHANNEL_NOT_SUPPORTED` for an emoji if the message's provider can send the six named reactions only. */
function requireSendable(
  { providers }: With<"providers">,
  { id, instanceId }: Message,
  { named, emoji }: ParsedReaction,
): void {
  const provider = providers.get(instanceId);
  if (named !== null || provider === undefined || provider.capabilities.emojiReactions === true) return;
  const message = `cannot be ${emoji}: the provider of ${id} (${provider.name}) can send ${REACTIONS.join(", ")} only`;
  throw refusedField("CHANNEL_NOT_SUPPORTED", "type", message);
}

/** Statuses of a message that is on the recipient's phone or on its way there; `received`: on the customer's phone. */
const ON_PHONE: readonly Message["status"][] = ["sent", "delivered", "read", "received"];

/** The stored message, if the action is possible on it. Otherwise throws an `ApiError`. */
async function requireActionable(deps: Deps, { customerId, id }: ActionSubject, verb: ActionVerb): Promise<Message> {
  const message = await requireMessage(deps, customerId, id);
  const { channel, direction, status } = message;
  if (channel !== "imessage") {
    throw new ApiError("CHANNEL_NOT_SUPPORTED", `${id} goes by ${channel}; only an iMessage can be ${verb}.`);
  }
  if (direction === "inbound" && verb !== "reacted to") {
    throw new ApiError("INVALID_STATUS", `${id} was written by a contact; only a message of yours can be ${verb}.`);
  }
  if (status === "unsent") throw new ApiError("ALREADY_UNSENT", `${id} was unsent already.`);
  if (!ON_PHONE.includes(status)) {
    throw new ApiError("INVALID_STATUS", `${id} is ${status}; a message can be ${verb} once it was sent.`);
  }
  return message;
}

/** The message as its provider identifies it. */
async function targetOf(deps: With<"threadCache">, message: Message): Promise<ActionTarget> {
  const { id: messageId, providerMessageId: reference, text, channel } = message;
  if (reference === null) throw new ApiError("INVALID_STATUS", `${messageId} has no reference at its provider.`);
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

function requireDone(result: ActionResult, id: string): void {
  if (!result.done) throw new ApiError("PROVIDER_ERROR", `The provider refused the action on ${id}: ${result.reason}.`);
}

/** A request to retry a message. */
export interface RetryRequest {
  customerId: CustomerId;
  id: string;
  mayDuplicate: boolean;
  idempotencyKey: string | null;
}

/** Retries a failed message and returns it. `repeated`: an earlier request with the same idempotency key retried it. */
export async function retryMessage(
  deps: With<"configCache" | "connections" | "link" | "messageCache" | "providers">,
  request: RetryRequest,
): Promise<{ repeated: boolean; message: Message }> {
  const { customerId, id, mayDuplicate, idempotencyKey: key } = request;
  const idempotentRequest = { key, customerId, route: `POST /v1/messages/${id}/retry`, body: { mayDuplicate } };
  const result = await idempotent(deps, idempotentRequest, async () => {
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
    const timeToLiveMs = timeToLiveOf(message, deps.settings.messageTtlMs);
    const change = aheadIn(deps, message, retry(message, way, timeToLiveMs, changeContext(deps)));
    if (change === null)
      throw new ApiError(
        "INVALID_STATUS",
        `${id} is ${message.status}; only a failed message, or one that was sent without its files, can be retried.`,
      );
    // The outcome of the attempt stayed unknown, and nobody asks its provider about it any more.
    const forgotten = message.errorCode === "OUTCOME_UNKNOWN" ? [forgetNote(message)] : [];
    return { transaction: transactionOf(message, change, forgotten), value: change.message, result: id };
  });
  if (!result.repeated) {
    deps.wake.messages([result.value.instanceId]);
    return { repeated: false, message: result.value };
  }
  return { repeated: true, message: await reread(deps, result.firstResult as MessageId) };
}

/**
 * Throws 400 if the rest of a message that was sent in part can no longer be sent, because the account that sent the part is
 * not connected any more.
 */
async function requireRest(deps: With<"configCache" | "connections">, message: Message): Promise<void> {
  if (message.sentPart === null) return;
  const connection = deps.connections.of(message.instanceId);
  const isGone = (await deps.configCache.instance(message.instanceId)) === null;
  if (!isGone && (connection === null || !isStranded(message, connection))) return;
  const words = `${message.sentPart.what} of ${message.id} was sent by an account that is not connected any more`;
  throw new ApiError("INVALID_STATUS", `${words}, and no other can send the rest; send the files as a new message.`);
}

/** Statuses of a message that is about to be sent: it cannot be deleted then. */
const UNDER_WAY: readonly Message["status"][] = ["queued", "pending"];

/** Deletes a message: cancels it if it is scheduled, and erases its text, media and files. */
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
    const context = changeContext(deps);
    const cancelled = cancel(fresh, context);
    const erased = erase(cancelled?.message ?? fresh, context);
    const also: Operation[] = [{ op: "delete", table: "contents", where: { messageId: fresh.id } }];
    return { message: erased.message, events: [...(cancelled?.events ?? []), ...erased.events], also };
  });
}
