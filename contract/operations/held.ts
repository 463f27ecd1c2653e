/** Operations on messages that a restore holds. */

import { DecideHeld, HeldDecision, HeldMessageList, heldMessageExample } from "../held.ts";
import { operation, type Section } from "../operation.ts";
import { IDS, LAST_PAGE } from "../samples.ts";
import { PageQuery } from "../values.ts";

export const held: Section = {
  tag: "Held",
  description:
    "Messages that may have been sent since the backup from which the service was restored. They are `pending` until a receipt comes, their provider finds them, or you decide. Takes an admin key.",
  operations: {
    "GET /v1/admin/held": operation({
      id: "listHeldMessages",
      summary: "List held messages",
      description: "Lists held messages newest first, without their content. A page may be short.",
      query: PageQuery,
      response: HeldMessageList,
      example: { messages: [heldMessageExample], pagination: LAST_PAGE },
    }),
    "POST /v1/admin/held/release": operation({
      id: "releaseHeldMessages",
      summary: "Send held messages again",
      description: "Queues held messages. A recipient may get such a message a second time.",
      body: DecideHeld,
      response: HeldDecision,
      example: { count: 1, notHeld: [], hasMore: false },
      bodyExample: { ids: [IDS.message] },
    }),
    "POST /v1/admin/held/discard": operation({
      id: "discardHeldMessages",
      summary: "End held messages",
      description:
        "Ends held messages as `failed` with `OUTCOME_UNKNOWN` and `mayHaveBeenSent: true`. Their customers may retry them with `mayDuplicate`.",
      body: DecideHeld,
      response: HeldDecision,
      example: { count: 12, notHeld: [], hasMore: false },
      bodyExample: { all: true },
    }),
  },
};
