/** Schemas of event requests. */

import { Type } from "typebox";
import { EVENT_TYPES } from "../../../sdk/wire.ts";
import { closed, page, text } from "./common.ts";

export const ListEvents = closed({
  ...page,
  type: Type.Optional(Type.Enum(EVENT_TYPES)),
  messageId: Type.Optional(text(1, 100)),
  after: Type.Optional(text(1, 100)),
  /** Makes it a live stream: event types by commas, or `*`. */
  events: Type.Optional(text(1, 2_000)),
});
