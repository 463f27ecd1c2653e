/** Messages that a restore holds, and what a person decides about them. */

import { type Static, Type } from "typebox";
import { CONTACT, IDS, OWN, at as time } from "./samples.ts";
import {
  at,
  atOrNull,
  count,
  exactlyOne,
  flag,
  id,
  list,
  optional,
  record,
  request,
  says,
  string,
  text,
} from "./schema.ts";
import { Channel, created, IdempotencyKey, Pagination } from "./values.ts";

/** The most messages that one request names. */
const IDS_MAX = 100;

export const DecideHeld = request(
  "DecideHeld",
  "Body of `POST /v1/admin/held/release` and `POST /v1/admin/held/discard`.",
  {
    ids: optional(
      list(text(1, 128), "The messages; or give `all`.", {
        minItems: 1,
        maxItems: IDS_MAX,
      }),
    ),
    all: optional(Type.Literal(true, { description: "All held messages, the oldest first, up to 1,000 a request." })),
    idempotencyKey: optional(IdempotencyKey),
  },
  { allOf: [exactlyOne("ids", "all")] },
);

export const HeldMessage = record("HeldMessage", "A message that a restore holds, without its content.", {
  id: id("msg"),
  customerId: id("cust", "The customer."),
  instanceId: id("inst", "The instance that may have sent it."),
  from: string("Sender."),
  to: string("Recipient; for a group, the id of its chat."),
  channel: says(Channel, "Channel on which it may have been sent."),
  reason: string("Why its outcome is still unknown."),
  scheduledAt: atOrNull("Its scheduled time; null if it had none."),
  heldAt: at("When it was held."),
  ...created,
});

export const HeldMessageList = record("HeldMessageList", "A page of held messages.", {
  messages: list(HeldMessage, "The messages of this page."),
  pagination: says(Pagination, "Where the list continues."),
});

export const HeldDecision = record("HeldDecision", "The result of a decision about held messages.", {
  count: count("How many messages the request decided about."),
  notHeld: list(Type.String(), "Ids of the request that name no held message."),
  hasMore: flag("Whether the request was for all and others are left: repeat it."),
});

export const heldMessageExample: Static<typeof HeldMessage> = {
  id: IDS.message,
  customerId: IDS.customer,
  instanceId: IDS.instance,
  from: OWN,
  to: CONTACT,
  channel: "sms",
  reason: "the provider cannot look it up",
  scheduledAt: null,
  heldAt: time(90),
  createdAt: time(0),
};
