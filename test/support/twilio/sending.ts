/** Messages for tests of the Twilio provider, and waiting for their receipts. */

import assert from "node:assert/strict";
import type { MessageId } from "../../../server/core/id.ts";
import type { Outbound, Outcome, ReceiptSignal } from "../../../server/providers/provider.ts";
import { outboundMessage } from "../outbound.ts";
import { until } from "../wait.ts";
import type { TwilioStage } from "./stage.ts";

/** Our number, and a contact's. */
export const FROM = "+15005550006";
export const TO = "+15550100001";
export const NEVER = new AbortController().signal;

let made = 0;

/** A new message, attempted now. */
export function message(more: Partial<Outbound> = {}): Outbound {
  made += 1;
  const messageId: MessageId = `msg_00000000-0000-7000-8000-${String(made).padStart(12, "0")}`;
  return outboundMessage({ messageId, from: FROM, to: TO, channel: "sms", attemptedAt: Date.now(), ...more });
}

/** The receipts reported so far. */
export function receipts({ signals }: TwilioStage): ReceiptSignal[] {
  return signals.filter((signal) => signal.kind === "receipt");
}

/** The reference of an accepted message; fails for any other outcome. */
export async function accepted(sending: Promise<Outcome>): Promise<string> {
  const outcome = await sending;
  assert.ok(outcome.outcome === "accepted", JSON.stringify(outcome));
  return outcome.reference;
}

/** Waits for so many receipts, and returns them. */
export async function reportedReceipts(stage: TwilioStage, count: number): Promise<string[]> {
  await until(() => receipts(stage).length >= count, { what: `${count} receipts` });
  return receipts(stage).map(({ receipt }) => receipt);
}
