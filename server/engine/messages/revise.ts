/** What a customer does to a message it has sent: cancel its schedule, try a failed one again, delete it. */

import { ApiError } from "../../core/error.ts";
import type { CustomerId, MessageId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import { cancel, erase, retry } from "../../core/message-lifecycle.ts";
import { findMessageOf } from "../../store/messages.ts";
import type { Operation } from "../../store/store.ts";
import { changeContext, type Deps } from "../deps.ts";
import { idempotent } from "../idempotency.ts";
import { planOf, wayNow } from "../routing/route.ts";
import { changeMessage, reread, transactionOf } from "./change-message.ts";
import { isStranded } from "./ready.ts";

/** A customer's message that is not deleted; throws 404 `NOT_FOUND`. */
export async function requireMessage(deps: Deps, customerId: CustomerId, id: string): Promise<Message> {
  const message = await findMessageOf(deps.store.db, customerId, id);
  if (message !== null && message.deletedAt === null) return message;
  throw new ApiError("NOT_FOUND", `There is no message ${id.slice(0, 100)}.`);
}

/**
 * Cancels a scheduled message and answers it. Cancelling and sending never both happen: whichever commits first
 * wins, and a message that is no longer scheduled is refused with `NOT_SCHEDULED`.
 */
export async function cancelSchedule(deps: Deps, customerId: CustomerId, id: string): Promise<Message> {
  const message = await requireMessage(deps, customerId, id);
  return changeMessage(deps, message, (fresh) => {
    const change = cancel(fresh, changeContext(deps));
    if (change !== null) return change;
    throw new ApiError(
      "NOT_SCHEDULED",
      `${id} is ${fresh.status}, not scheduled; only a scheduled message can be cancelled.`,
    );
  });
}

/** What a retry needs to know beside the message. */
export interface Retrying {
  customerId: CustomerId;
  id: string;
  mayDuplicate: boolean;
  idempotencyKey: string | null;
}

/** Queues a failed message again and answers it. `repeated` when its idempotency key had done it before. */
export async function retryMessage(deps: Deps, retrying: Retrying): Promise<{ repeated: boolean; message: Message }> {
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
async function requireRest(deps: Deps, message: Message): Promise<void> {
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
export async function deleteMessage(deps: Deps, customerId: CustomerId, id: string): Promise<void> {
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
