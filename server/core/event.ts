/** Events: the envelope is serialized once, and every delivery, retry, list and stream carries the same bytes. */

import type { EventType } from "../../sdk/wire.ts";
import type { CustomerId, EventId, MessageId } from "./id.ts";
import { iso } from "./instant.ts";

/** A stored event. `bytes` is the whole envelope as compact JSON; deliveries send it unparsed. */
export interface Event {
  id: EventId;
  customerId: CustomerId;
  type: EventType;
  messageId: MessageId | null;
  /** The message's `sequence`, 0 for an event of no message. */
  sequence: number;
  correlationId: string;
  createdAt: number;
  bytes: string;
}

/** Creates an event with `data`. Its bytes are the envelope in compact `JSON.stringify` form. */
export function makeEvent(event: Omit<Event, "bytes">, data: Readonly<Record<string, unknown>> | object): Event {
  const timestamp = iso(event.createdAt);
  return { ...event, bytes: JSON.stringify({ id: event.id, type: event.type, timestamp, data }) };
}
