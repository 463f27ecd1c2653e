/** Bodies of the sandbox's routes. */

import { Type } from "typebox";
import type { InboxBehaviour as InboxBehaviourBody } from "../../../sdk/wire.ts";
import { closed, wire } from "./common.ts";

/** Contract 7. `delayMs` goes to twice the 30 s that a sender waits, `failFirst` to twice the requests that are kept. */
export const InboxBehaviour = wire<Partial<InboxBehaviourBody>>()(
  closed({
    status: Type.Optional(Type.Integer({ minimum: 200, maximum: 599 })),
    delayMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 60_000 })),
    failFirst: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000 })),
  }),
);
