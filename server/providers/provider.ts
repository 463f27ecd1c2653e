/** What a provider is: something that takes messages for a channel and tells what became of them. */

import type { Channel, HealthStatus } from "../../sdk/wire.ts";
import type { Clock } from "../clock.ts";
import type { InstanceId, MessageId } from "../core/id.ts";

/** Facts about a provider, not wishes. */
export interface Capabilities {
  channels: readonly Channel[];
  /** Hand-overs at once. */
  concurrency: number;
  /** How long to wait before `settle` is asked about an unknown outcome, in milliseconds. */
  settleAfterMs: number;
}

/** A message as a provider is given it. */
export interface Outbound {
  messageId: MessageId;
  from: string;
  to: string;
  channel: Channel;
  text: string;
  /** 1 for the first hand-over on this channel. */
  attempt: number;
}

/**
 * What became of a hand-over. `rejected`: provably not sent, and sending it again is no use; `notReachable` says that
 * the recipient is not on the channel. `deferred`: provably not sent, later it may be. `unknown`: it may have been sent.
 */
export type Outcome =
  | { outcome: "accepted"; reference: string }
  | { outcome: "rejected"; code: string; reason: string; notReachable?: boolean }
  | { outcome: "deferred"; retryAfterMs: number | null; reason: string }
  | { outcome: "unknown"; reason: string };

/** A provider's word about a message it took, found by the `reference` of its outcome, or by our id where it knows it. */
export interface ReceiptSignal {
  kind: "receipt";
  reference: string;
  messageId?: MessageId;
  /** The channel it was taken on: a receipt of one that was given up is no word about the next. */
  channel: Channel;
  receipt: "sent" | "delivered" | "read" | "failed";
  /** The provider's own error code, with `failed`. */
  code?: string;
  reason?: string;
  /** A key of the instance's memory that this signal ends: it is deleted in the unit of what the signal changes. */
  forget?: string;
}

export type Signal = ReceiptSignal;

export interface Health {
  status: HealthStatus;
  message?: string;
}

/**
 * Small durable key-value of one instance: watermarks, work in progress. `put` makes or replaces; `put` and `delete`
 * resolve when it is on disk.
 */
export interface Memory {
  list(prefix: string): Promise<{ key: string; value: string }[]>;
  put(key: string, value: string): Promise<void>;
  delete(key: string): Promise<void>;
}

/** What an instance of a provider is made from. */
export interface ProviderContext {
  instanceId: InstanceId;
  memory: Memory;
  clock: Clock;
}

export interface Provider {
  readonly name: string;
  readonly capabilities: Capabilities;
  /** Connects. `signals` resolves when what it was told is on disk; a signal that threw must be told again. */
  start(signals: (signal: Signal) => Promise<void>): Promise<void>;
  /** Never throws for what a peer does; a throw counts as `unknown`. */
  send(message: Outbound, abort: AbortSignal): Promise<Outcome>;
  /** An unknown outcome: ask, never resend blindly. `absent`: provably never taken. */
  settle?(message: Outbound): Promise<Outcome | "absent">;
  health(): Promise<Health>;
  stop(): Promise<void>;
}
