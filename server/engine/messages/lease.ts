/** Leases of messages: whoever claimed one may change what is due of it, until the lease ends. */

import type { Message } from "../../core/message.ts";
import type { Provider } from "../../providers/provider.ts";
import type { MessageDecision } from "./change-message.ts";

/** Length of a lease in real milliseconds (design: 45 s). What takes longer is cut off before, or leases anew. */
export const LEASE_MS = 45_000;
/** How much longer than the hand-over its lease is, in real milliseconds: its outcome is to be written within it. */
const WRITING_MS = 5_000;

/** Length of the lease of a message that is being handed to a provider, in real milliseconds. */
export function attemptLeaseMs({ capabilities }: Provider): number {
  return capabilities.sendTimeoutMs + WRITING_MS;
}

/** Whether the lease that was taken is still the message's; one that waited its turn for too long has lost it. */
export function hasLease(message: Message, leased: Message): boolean {
  return message.claimedUntil !== null && message.claimedUntil === leased.claimedUntil;
}

/** Nothing to do after all: the lease is given back, where it still is the one that was taken. */
export function releaseLease(message: Message, leased: Message): MessageDecision {
  if (!hasLease(message, leased)) return null;
  return { message: { ...message, claimedUntil: null }, events: [] };
}
