/** How a noun declares its events. */

import type { Static, TSchema } from "typebox";
import type { EVENT_TYPES } from "./event-types.ts";

/** An event: when it is sent, the shape of its data, and an example of the data. */
export interface EventDeclaration {
  type: (typeof EVENT_TYPES)[number];
  summary: string;
  data: TSchema;
  example: unknown;
}

/** Declares an event whose example has the type of its data. */
export function event<Schema extends TSchema>(
  type: EventDeclaration["type"],
  summary: string,
  data: Schema,
  example: Static<Schema>,
): EventDeclaration {
  return { type, summary, data, example };
}
