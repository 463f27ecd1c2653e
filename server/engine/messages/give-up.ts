/** Gives a channel up: on to the next one where there is one, else the message has failed. */

import type { FallbackReason } from "../../../sdk/wire.ts";
import type { Message } from "../../core/message.ts";
import { type Change, type FailureCause, fail, fallBack } from "../../core/message-lifecycle.ts";
import { wayOf } from "../../core/routing.ts";
import { changeContext, type Deps } from "../deps.ts";
import { nextChannel, type RoutePlan } from "../routing/route.ts";

/**
 * The change of a message whose channel is given up for `reason`. `cause` is what it fails
 * with when no channel is left. Null when it had already ended otherwise.
 */
export function giveUp(
  deps: Deps,
  plan: RoutePlan,
  message: Message,
  reason: FallbackReason,
  cause: FailureCause,
): Change | null {
  const told = changeContext(deps);
  const next = nextChannel(deps, plan, message);
  if (next === null) return fail(message, cause, told);
  const { channel, chosen } = next;
  return fallBack(message, { channel, ...wayOf(chosen) }, reason, deps.settings.messageTtlMs, told);
}
