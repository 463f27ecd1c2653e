/** The health of an SMPP instance, in sentences for an operator. Pure. */

import type { Health } from "../provider.ts";
import type { LinkState } from "./link.ts";

/** Figures of this process about its traffic. */
export interface Traffic {
  /** When the SMSC last throttled, by the real clock; null if it never did. */
  throttledAt: number | null;
  /** Messages without a response since the last response. */
  unanswered: number;
  /** Recent receipts whose message was not found. */
  unmatched: number;
  /** Ids that the SMSC gave to several messages. */
  sharedIds: number;
  /** Messages accepted since the last receipt, or since the start. */
  sinceReceipt: number;
}

/** How long a throttling status counts. */
const THROTTLED_MS = 60_000;
/** Slow phones alone do not explain this many messages without a receipt. */
const WITHOUT_RECEIPT_MAX = 100;

export function healthOf(
  state: LinkState,
  { host, port, now }: { host: string; port: number; now: number },
  traffic: Traffic,
): Health {
  const place = `${host}:${port}`;
  if (state.bound.length === 0 || (state.bound.length === 1 && state.bound[0] === "receiver")) {
    const why = state.lastError ?? "the session is being bound";
    const message = `Not connected to ${place} since ${new Date(state.since).toISOString()}: ${why}.`;
    return { status: "unhealthy", message, warnings: [message] };
  }
  const troubles = troublesOf(state, now, traffic);
  const warnings = [...troubles, ...warningsOf(traffic)];
  const message = troubles[0] ?? `Bound to ${place} as ${state.bound.join(" and ")}.`;
  return {
    status: troubles.length > 0 ? "degraded" : "healthy",
    message,
    ...(warnings.length > 0 ? { warnings } : {}),
  };
}

/** Sentences about faults that keep messages or receipts back. */
function troublesOf({ isDegraded, lastError }: LinkState, now: number, traffic: Traffic): string[] {
  const troubles: string[] = [];
  if (isDegraded) {
    const why = lastError ?? "it is being bound";
    troubles.push(`The receiver is not bound, so neither receipts nor inbound messages arrive: ${why}.`);
  }
  if (traffic.unanswered > 0) {
    const count = traffic.unanswered === 1 ? "The last message" : `The last ${traffic.unanswered} messages`;
    troubles.push(`${count} got no response from the SMSC, so it is unknown whether they were sent. Ask the carrier.`);
  }
  if (traffic.throttledAt !== null && now - traffic.throttledAt < THROTTLED_MS) {
    troubles.push(
      "The SMSC refuses messages because they are sent too fast: set throughputPerSecond to what the carrier allows, or ask for more.",
    );
  }
  return troubles;
}

/** Sentences about faults that let messages through. */
function warningsOf({ unmatched, sharedIds, sinceReceipt }: Traffic): string[] {
  const warnings: string[] = [];
  if (unmatched > 0) {
    const count = unmatched === 1 ? "1 receipt" : `${unmatched} receipts`;
    warnings.push(
      `${count} matched no message of this instance: check messageIdBase, and whether another system uses the account.`,
    );
  }
  if (sharedIds > 0) {
    warnings.push(
      "The SMSC gives several messages the same id, so receipts count only with user_message_reference. Ask the carrier.",
    );
  }
  if (sinceReceipt >= WITHOUT_RECEIPT_MAX) {
    warnings.push(
      `No receipt came for the last ${sinceReceipt} messages: ask the carrier whether delivery receipts are switched on.`,
    );
  }
  return warnings;
}
