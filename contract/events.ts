/** Events: every event of every noun, the envelope, and the list. */

import { Type } from "typebox";
import { callEvents } from "./calls.ts";
import { chatEvents } from "./chats.ts";
import { EVENT_TYPES, type EventDeclaration, EventType } from "./event-type.ts";
import { messageEvents } from "./message-events.ts";
import { optOutEvents } from "./opt-outs.ts";
import { paymentEvents } from "./payments.ts";
import { at, CONTACT, CORRELATION_ID, IDS, OWN } from "./samples.ts";
import { closed, id, at as instant, list, NAME, optional, record, says, TYPESCRIPT, text } from "./schema.ts";
import { Pagination, page } from "./values.ts";
import { webhookEvents } from "./webhooks.ts";

const declared = [...messageEvents, ...chatEvents, ...paymentEvents, ...callEvents, ...optOutEvents, ...webhookEvents];

/** Every event, in the order of `EVENT_TYPES`. */
export const allEvents: readonly EventDeclaration[] = EVENT_TYPES.map((type) => {
  const [found, ...more] = declared.filter((one) => one.type === type);
  if (found === undefined || more.length > 0) throw new Error(`the event ${type} is declared ${more.length} times`);
  return found;
});

/** Envelope of an event whose data is of any type. */
interface AnyEventEnvelope {
  id: string;
  type: (typeof EVENT_TYPES)[number];
  timestamp: string;
  data: object;
}

/** Fields of the envelope beside `type` and `data`. */
export const envelopeFields = {
  id: id("evt", "Id of the event: deduplicate by it."),
  timestamp: instant("When the event occurred."),
};

/** An event of any type; the document puts it together from all events. */
export const AnyEvent = Type.Unsafe<AnyEventEnvelope>({ [NAME]: "Event", [TYPESCRIPT]: "Event" });

export const EventList = record("EventList", "A page of events.", {
  events: list(AnyEvent, "The events of this page."),
  pagination: says(Pagination, "Where the list continues."),
});

/** An item of `events`, as a pattern. */
const SUBSCRIBED = `(?:\\*|${EVENT_TYPES.map((type) => type.replaceAll(".", "\\.")).join("|")})`;

/** Query of `GET /v1/events`. */
export const EventsQuery = closed({
  ...page,
  type: optional(says(EventType, "Only events of this type.")),
  messageId: optional(text(1, 100, "Only events of this message.")),
  after: optional(text(1, 100, "Only events after this one, oldest first.")),
  events: optional(
    text(1, 2_000, "Opens the live stream, limited to these types: separated by commas, or `*`.", {
      pattern: `^${SUBSCRIBED}(?:,${SUBSCRIBED})*$`,
    }),
  ),
});

/** Longest wait for an event, in seconds. */
const TIMEOUT_SECONDS_MAX = 30;

/** Query of `GET /v1/sandbox/wait`. */
export const WaitQuery = closed({
  type: optional(says(EventType, "Only an event of this type.")),
  messageId: optional(text(1, 100, "Only an event of this message.")),
  after: optional(text(1, 100, "Only an event after this one.")),
  timeoutSeconds: Type.Number({
    minimum: 0,
    maximum: TIMEOUT_SECONDS_MAX,
    default: TIMEOUT_SECONDS_MAX,
    description: "How long to wait: at most 30 seconds.",
  }),
});

export const eventExample = {
  id: IDS.event,
  type: "message.delivered",
  timestamp: at(2),
  data: {
    messageId: IDS.message,
    from: OWN,
    to: CONTACT,
    text: "Your table is ready.",
    channel: "imessage",
    status: "delivered",
    sequence: 3,
    correlationId: CORRELATION_ID,
    deliveredAt: at(2),
  },
} as const;
