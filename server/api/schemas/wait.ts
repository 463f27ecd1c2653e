/** Schema of the wait for an event. */

import { Type } from "typebox";
import { EVENT_TYPES } from "../../../sdk/wire.ts";
import { closed, text } from "./common.ts";

/** Longest wait, in seconds, and how long one is unless told. */
const TIMEOUT_SECONDS_MAX = 30;

export const WaitForEvent = closed({
  type: Type.Optional(Type.Enum(EVENT_TYPES)),
  messageId: Type.Optional(text(1, 100)),
  after: Type.Optional(text(1, 100)),
  timeoutSeconds: Type.Number({ minimum: 0, maximum: TIMEOUT_SECONDS_MAX, default: TIMEOUT_SECONDS_MAX }),
});
