/** How an SMPP instance is, in words that an operator can act on. Pure. */

import type { Health } from "../provider.ts";
import type { LinkState } from "./link.ts";

/** What is known of the traffic of this process. */
export interface Traffic {
  /** When the SMSC last said that we are too fast, real; null when it never did. */
  throttledAt: number | null;
  /** Messages without an answer since the last answer. */
  unanswered: number;
  /** Receipts that named no message of ours, of late. */
  unmatched: number;
  /** Ids that the SMSC gave to several messages. */
  sharedIds: number;
  /** Messages taken since the last receipt, or since the start. */
  sinceReceipt: number;
}

/** So long after the last word that we are too fast it still counts. */
const THROTTLED_MS = 60_000;
/** Messages in a row without a receipt that are too many to be slow phones. */
const WITHOUT_RECEIPT_MAX = 100;

export function healthOf(
  state: LinkState,
  { host, port, now }: { host: string; port: number; now: number },
  traffic: Traffic,
): Health {
  const place = `${host}:${port}`;
  if (state.bound.length === 0 || (state.bound.length === 1 && state.bound[0] === "receiver")) {
    const why = state.lastError ?? "the bind is under way";
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

/** What keeps messages or receipts from coming through. */
function troublesOf({ isDegraded, lastError }: LinkState, now: number, traffic: Traffic): string[] {
  const troubles: string[] = [];
  if (isDegraded) {
    const why = lastError ?? "its bind is under way";
    troubles.push(`The receiver is not bound, so neither receipts nor inbound messages come: ${why}.`);
  }
  if (traffic.unanswered > 0) {
    const count = traffic.unanswered === 1 ? "The last message" : `The last ${traffic.unanswered} messages`;
    troubles.push(`${count} got no answer from the SMSC: whether they were sent is not known. Ask the carrier.`);
  }
  if (traffic.throttledAt !== null && now - traffic.throttledAt < THROTTLED_MS) {
    troubles.push(
      "The SMSC says that we send too fast: set throughputPerSecond to what the carrier allows, or ask it for more.",
    );
  }
  return troubles;
}

/** What lets messages through, and leaves something unknown. */
function warningsOf({ unmatched, sharedIds, sinceReceipt }: Traffic): string[] {
  const warnings: string[] = [];
  if (unmatched > 0) {
    const count = unmatched === 1 ? "1 receipt" : `${unmatched} receipts`;
    warnings.push(
      `${count} named no message of this instance: is messageIdBase right? Does another system use the account?`,
    );
  }
  if (sharedIds > 0) {
    warnings.push(
      "The SMSC gives one id to several messages: receipts count only with user_message_reference. Ask the carrier.",
    );
  }
  if (sinceReceipt >= WITHOUT_RECEIPT_MAX) {
    warnings.push(
      `No receipt came for the last ${sinceReceipt} messages: ask the carrier whether delivery receipts are switched on.`,
    );
  }
  return warnings;
}
