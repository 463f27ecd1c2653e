/** Gives a channel up: on to the next one where there is one, else the message has failed. */

import type { FallbackReason } from "../../sdk/wire.ts";
import type { Message } from "../core/message.ts";
import type { Change, ChangeContext, FailureCause } from "../core/message-lifecycle.ts";
import { canFallBack, fail, fallBack } from "../core/message-lifecycle.ts";

/**
 * The change of a message whose channel is given up for `reason` (contract 3, Routing). `cause` is what it fails
 * with when no channel is left. Null when it had already ended otherwise.
 */
export function giveUp(
  message: Message,
  reason: FallbackReason,
  cause: FailureCause,
  messageTtlMs: number,
  context: ChangeContext,
): Change | null {
  const [channel] = message.channelsLeft;
  if (!canFallBack(message) || channel === undefined) return fail(message, cause, context);
  return fallBack(message, { channel, instanceId: message.instanceId }, reason, messageTtlMs, context);
}
