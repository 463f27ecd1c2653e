/** A message and the context of its changes, for tests of the lifecycle. */

import { type Message, NEW_MESSAGE } from "../../server/core/message.ts";
import type { ChangeContext } from "../../server/core/message-lifecycle.ts";

/** The default time of every change. */
export const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
export const TTL_MS = 72 * 3_600_000;

/** A queued message, with a fallback to SMS by default. */
export function message(changes: Partial<Message> = {}): Message {
  return {
    ...NEW_MESSAGE,
    id: "msg_1",
    customerId: "cust_1",
    keyId: null,
    from: "+15550000001",
    to: "+15005550100",
    channel: "imessage",
    channelsLeft: ["sms"],
    fallback: true,
    fallbackAfterMs: null,
    text: "Hello",
    correlationId: "cor_1",
    instanceId: "inst_1",
    dueAt: NOW,
    claimedUntil: null,
    expiresAt: NOW + TTL_MS,
    sequence: 1,
    scheduledAt: null,
    createdAt: NOW,
    updatedAt: NOW,
    ...changes,
  };
}

let made = 0;

/** The context of a change at a moment. */
export function at(now = NOW): ChangeContext {
  return {
    now,
    eventId: () => {
      made += 1;
      return `evt_${made}`;
    },
    link: (token) => `https://tb.example/v1/attachments/${token}`,
    smartEncoding: false,
  };
}
