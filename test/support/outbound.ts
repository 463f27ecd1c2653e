/** Messages as providers get them, for tests; plain texts by default. */

import type { Outbound } from "../../server/providers/provider.ts";

/** An outbound text: first send attempt, no attachments, to one recipient. */
export function outboundMessage(message: Pick<Outbound, "messageId" | "to"> & Partial<Outbound>): Outbound {
  return {
    customerId: "cust_00000000-0000-7000-8000-000000000001",
    from: "+15005550006",
    group: null,
    channel: "imessage",
    text: "Hello",
    attachments: [],
    effect: null,
    replyTo: null,
    mentions: [],
    sentPart: null,
    payment: null,
    attempt: 1,
    attemptedAt: 0,
    ...message,
  };
}
