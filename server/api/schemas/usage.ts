/** Query of the usage route. */

import { Type } from "typebox";
import { closed, text } from "./common.ts";

/** `from` and `to` are instants or dates; the handler says which. */
export const UsageQuery = closed({
  keyId: Type.Optional(text(1, 128)),
  customerId: Type.Optional(text(1, 128)),
  from: Type.Optional(text(1, 40)),
  to: Type.Optional(text(1, 40)),
  granularity: Type.Enum(["day", "hour"], { default: "day" }),
});
