/** The health of an SMPP instance, in sentences for an operator. Pure. */

import type { CarrierAlphabet } from "../../core/segment.ts";
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
  /** Recent deliver_sm and data_sm that were refused because they could not be read. */
  refused: number;
  /** Recent deliver_sm and data_sm that were read up to octets at their end that are no optional parameter. */
  unreadRests: number;
  /** Recent deliver_sm whose text counted a NUL that was not there. */
  unsentEnds: number;
  /** Recent messages to no number of the service, with the last digits of the last address. */
  unaddressed: { count: number; to: string };
  /** Recent texts in the carrier's default alphabet with octets that are no character of `defaultAlphabet`. */
  foreign: number;
  defaultAlphabet: CarrierAlphabet;
  /** Ids that the SMSC gave to several messages. */
  sharedIds: number;
  /** Messages accepted since the last receipt, or since the start. */
  sinceReceipt: number;
}

/** How long a throttling status counts. */
const THROTTLED_MS = 60_000;
/** Slow phones alone do not explain this many messages without a receipt. */
const WITHOUT_RECEIPT_MAX = 100;

const ALPHABET_NAMES: Readonly<Record<CarrierAlphabet, string>> = {
  gsm: "GSM 03.38",
  latin1: "Latin-1",
  ascii: "ASCII",
};

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
  if (traffic.refused > 0) {
    const count = counted(traffic.refused, "message or receipt", "messages or receipts");
    troubles.push(
      `The SMSC sent ${count} that cannot be read, and each was refused with an error: nobody got them. The log names the broken field; ask the carrier.`,
    );
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
function warningsOf({
  unmatched,
  unaddressed,
  unreadRests,
  unsentEnds,
  foreign,
  defaultAlphabet,
  sharedIds,
  sinceReceipt,
}: Traffic): string[] {
  const warnings: string[] = [];
  if (unmatched > 0) {
    warnings.push(
      `${counted(unmatched, "receipt", "receipts")} matched no message of this instance: check messageIdBase, and whether another system uses the account.`,
    );
  }
  const { count: lost, to } = unaddressed;
  if (lost > 0) {
    const texts = counted(lost, "text", "texts");
    warnings.push(
      `${texts} came to an address that is no number of this service (last: ${to}), and nobody got them: add the number, or set defaultCountryCode or sourceAddress if that is how the carrier writes yours.`,
    );
  }
  if (unreadRests > 0) {
    const count = counted(unreadRests, "message or receipt", "messages or receipts");
    warnings.push(
      `${count} of the SMSC ended in octets that are no optional parameter. They were read up to there, and the rest was ignored: ask the carrier what it adds.`,
    );
  }
  if (unsentEnds > 0) {
    const count = counted(unsentEnds, "message or receipt", "messages or receipts");
    warnings.push(
      `${count} of the SMSC counted a NUL at their end that they did not have. They were read: ask the carrier for the right sm_length.`,
    );
  }
  if (foreign > 0) {
    warnings.push(
      `${counted(foreign, "text", "texts")} with data_coding 0 had octets that are no character of ${ALPHABET_NAMES[defaultAlphabet]}: ask the carrier for its default alphabet, and set defaultAlphabet to it.`,
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

function counted(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? one : several}`;
}
