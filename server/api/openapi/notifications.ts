/** Events as webhooks of the document: their envelopes, the headers of a delivery, and the expected responses. Pure. */

import { type TSchema, Type } from "typebox";
import type { EventDeclaration } from "../../../contract/event-type.ts";
import { envelopeFields } from "../../../contract/events.ts";
import { at, CORRELATION_ID, IDS } from "../../../contract/samples.ts";
import { ABOUT, NAME } from "../../../contract/schema.ts";
import type { Parameter } from "./parameters.ts";
import { type Components, type PublishedSchema, publish, refTo } from "./schema.ts";

/** A webhook of the document. */
export interface Notification {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  security: Record<string, string[]>[];
  parameters: Parameter[];
  requestBody: { required: true; content: Record<string, { schema: PublishedSchema; example: unknown }> };
  responses: Record<string, { description: string }>;
}

const SENT_AT = "1772366402";

/** Headers of a delivery. Each webhook has them itself: oapi-codegen drops components that only webhooks name, and then misses them. */
const DELIVERY_PARAMETERS: Readonly<Record<string, Parameter>> = {
  Signature: sent(
    "X-Signature",
    "`sha256=` and the HMAC-SHA256 of `<X-Timestamp>.<raw body>` in lower-case hexadecimal. The key is the characters of your secret.",
    `sha256=${"0123456789abcdef".repeat(4)}`,
  ),
  Timestamp: sent(
    "X-Timestamp",
    "When this attempt was sent, in Unix seconds. Refuse a time that is more than 300 s off.",
    SENT_AT,
  ),
  DeliveryCorrelationId: sent(
    "X-Correlation-Id",
    "Correlation id of the request that led to the event.",
    CORRELATION_ID,
  ),
  WebhookId: {
    ...sent("webhook-id", "Id of the event: deduplicate by it.", IDS.event),
    required: false,
  },
  WebhookTimestamp: { ...sent("webhook-timestamp", "The same as `X-Timestamp`.", SENT_AT), required: false },
  WebhookSignature: {
    ...sent(
      "webhook-signature",
      "Signature of Standard Webhooks; during a rotation one for each secret. Absent if the secret is not `whsec_` and base64 of 24 to 64 bytes, padded or not, in either alphabet.",
      "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
    ),
    required: false,
  },
};

function sent(name: string, description: string, example: string): Parameter {
  return { name, in: "header", required: true, description, schema: { type: "string" }, example };
}

const RESPONSES = {
  "2XX": { description: "Received. Respond within 30 s and do the work afterwards; the body is ignored." },
  default: {
    description: "Not received: the event is sent again, seven times, over 58 hours. Redirects are not followed.",
  },
};

/** The webhook of one event. */
export function notification(event: EventDeclaration): Notification {
  const { type, summary } = event;
  return {
    operationId: `on${titled(type)}`,
    tags: ["Webhooks"],
    summary,
    description: "Delivered at least once: deduplicate by `id`. Fields of `data` that do not apply are absent.",
    security: [],
    parameters: Object.values(DELIVERY_PARAMETERS),
    requestBody: {
      required: true,
      content: { "application/json": { schema: refTo(envelopeOf(type)), example: eventExample(event) } },
    },
    responses: RESPONSES,
  };
}

/** Puts the envelope of every event into the components, and `Event`, the union of them. */
export function eventSchemas(events: readonly EventDeclaration[], components: Components): void {
  for (const event of events) publish(envelopeSchema(event), components);
  const mapping = events.map(({ type }) => [type, `#/components/schemas/${envelopeOf(type)}`]);
  components.set("Event", {
    description: "An event of any type.",
    oneOf: events.map(({ type }) => refTo(envelopeOf(type))),
    discriminator: { propertyName: "type", mapping: Object.fromEntries(mapping) },
  });
}

function envelopeSchema({ type, summary, data }: EventDeclaration): TSchema {
  const fields = {
    id: envelopeFields.id,
    type: Type.Literal(type, { description: "Type of the event." }),
    timestamp: envelopeFields.timestamp,
    data,
  };
  return Type.Object(fields, { [NAME]: envelopeOf(type), [ABOUT]: summary });
}

/** An event as it could arrive. */
function eventExample({ type, example }: EventDeclaration): unknown {
  return { id: IDS.event, type, timestamp: at(2), data: example };
}

function envelopeOf(type: string): string {
  return `${titled(type)}Event`;
}

function titled(type: string): string {
  return type.replace(/(?:^|[._])(\w)/g, (_, first: string) => first.toUpperCase());
}
