/** Usage: counters by the hour, of a key and of a customer. */

import type { UsageCounts } from "../../sdk/wire.ts";
import type { CustomerId, KeyId } from "./id.ts";

/** Counters of a subject in one hour; `at` is the hour's start (epoch milliseconds, UTC). */
export interface UsageHour extends UsageCounts {
  subject: KeyId | CustomerId;
  at: number;
}

/**
 * Counters that are added to the store together. It counts a batch once, however often it is given: a write whose reply was lost is
 * repeated. `number` tells a batch of an owner from the one before.
 */
export interface UsageBatch {
  /** Names the start of a process that counts. */
  owner: string;
  number: number;
  hours: readonly UsageHour[];
}

export const USAGE_FIELDS = [
  "requests",
  "rateLimited",
  "messagesSent",
  "segments",
  "messagesReceived",
  "webhooksDelivered",
  "webhooksFailed",
] as const satisfies readonly (keyof UsageCounts)[];

/** Counts without any usage. */
export function noUsage(): UsageCounts {
  return {
    requests: 0,
    rateLimited: 0,
    messagesSent: 0,
    segments: 0,
    messagesReceived: 0,
    webhooksDelivered: 0,
    webhooksFailed: 0,
  };
}
