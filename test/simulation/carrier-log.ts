/** Events at the carrier in a run: the oracle compares them with what the service reports. */

import type { Channel } from "../../sdk/wire.ts";
import type { Outcome, ReceiptSignal, Signal } from "../../server/providers/provider.ts";

/** One send attempt, as the carrier saw it. */
export interface SendAttempt {
  order: number;
  /** When the service gave the message to the provider, which may note it before it sends it. */
  givenOrder: number;
  life: number;
  /** The instance that sent it. */
  instanceId: string;
  messageId: string;
  channel: Channel;
  attempt: number;
  from: string;
  to: string;
  text: string;
  at: number;
  /** The outcome that the service got; null if the service died or stopped waiting. */
  outcome: Outcome | { outcome: "threw" } | null;
  /** Position of that outcome in the run. */
  answeredOrder: number | null;
  /** When the carrier accepted it, and under which reference; null if it never did. */
  taken: { order: number; at: number; reference: string } | null;
}

/** One lookup of a send attempt whose outcome was unknown. */
export interface Question {
  order: number;
  instanceId: string;
  messageId: string;
  channel: Channel;
  /** Null if the carrier did not answer. */
  answer: Outcome | "absent" | null;
}

/** One receipt, however often the carrier reported it before the service accepted it. */
export interface Receipt {
  signal: ReceiptSignal;
  messageId: string;
  at: number;
  /** Position in the run at which the service had it on disk; null if it never did. */
  acceptedOrder: number | null;
}

/** One action of a person, however often the carrier reported it. */
export interface Deed {
  signal: Exclude<Signal, ReceiptSignal>;
  at: number;
  /** Position in the run at which the service had it on disk; null if it never did. */
  acceptedOrder: number | null;
}

export interface CarrierLog {
  sendAttempts: SendAttempt[];
  questions: Question[];
  receipts: Receipt[];
  deeds: Deed[];
}
