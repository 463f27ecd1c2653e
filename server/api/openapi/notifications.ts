/** Events as webhooks of the document: their envelopes, the headers they come with, and what to answer. Pure. */

import { Type } from "typebox";
import { EVENT } from "./events.ts";
import { At, type Happening, id } from "./operation.ts";
import type { Parameter } from "./parameters.ts";
import { at, CORRELATION_ID, IDS } from "./samples.ts";
import { type Components, type PublishedSchema, publishAs, refTo } from "./schema.ts";

/** A webhook of the document. */
export interface Notification {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  security: Record<string, string[]>[];
  parameters: PublishedSchema[];
  requestBody: { required: true; content: Record<string, { schema: PublishedSchema; example: unknown }> };
  responses: Record<string, { description: string }>;
}

const SENT_AT = "1772366402";

/** Headers of a delivery: components of the document. */
export const DELIVERY_PARAMETERS: Readonly<Record<string, Parameter>> = {
  Signature: sent(
    "X-Signature",
    "`sha256=` and the HMAC-SHA256 of `<X-Timestamp>.<raw body>` in lower-case hexadecimal; the key is your secret as it is written.",
    `sha256=${"0123456789abcdef".repeat(4)}`,
  ),
  Timestamp: sent("X-Timestamp", "When this attempt was sent, in Unix seconds. Refuse what is 300 s off.", SENT_AT),
  DeliveryCorrelationId: sent("X-Correlation-Id", "That of the request which led to the event.", CORRELATION_ID),
  WebhookId: {
    ...sent("webhook-id", "The event's id: the key to deduplicate by.", IDS.event),
    required: false,
  },
  WebhookTimestamp: { ...sent("webhook-timestamp", "As `X-Timestamp`.", SENT_AT), required: false },
  WebhookSignature: {
    ...sent(
      "webhook-signature",
      "By the rules of Standard Webhooks; during a rotation one for each secret. Absent where the secret is not `whsec_` and base64.",
      "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
    ),
    required: false,
  },
};

function sent(name: string, description: string, example: string): Parameter {
  return { name, in: "header", required: true, description, schema: { type: "string" }, example };
}

const ANSWERS = {
  "2XX": { description: "Taken. Answer within 30 s, and do the work afterwards; the body is not looked at." },
  default: { description: "Not taken: it is sent again, seven times, over 58 hours. Redirects are not followed." },
};

/** The webhook of one event. */
export function notification(happening: Happening): Notification {
  const { type, summary } = happening;
  return {
    operationId: `on${titled(type)}`,
    tags: ["Webhooks"],
    summary,
    description: "Delivered at least once: deduplicate by `id`. What does not apply is absent from `data`.",
    security: [],
    parameters: Object.keys(DELIVERY_PARAMETERS).map((name) => ({ $ref: `#/components/parameters/${name}` })),
    requestBody: {
      required: true,
      content: { "application/json": { schema: refTo(envelopeOf(type)), example: eventExample(happening) } },
    },
    responses: ANSWERS,
  };
}

/** Puts the envelope of every event into the components, and `Event`, which is any of them. */
export function eventSchemas(happenings: readonly Happening[], components: Components): void {
  for (const { type, data } of happenings) {
    const envelope = Type.Object({ id: id("evt"), type: Type.Literal(type), timestamp: At, data });
    publishAs(envelope, envelopeOf(type), components);
  }
  const mapping = happenings.map(({ type }) => [type, `#/components/schemas/${envelopeOf(type)}`]);
  components.set(EVENT, {
    oneOf: happenings.map(({ type }) => refTo(envelopeOf(type))),
    discriminator: { propertyName: "type", mapping: Object.fromEntries(mapping) },
  });
}

/** An event as it could arrive. */
function eventExample({ type, example }: Happening): unknown {
  return { id: IDS.event, type, timestamp: at(2), data: example };
}

function envelopeOf(type: string): string {
  return `${titled(type)}Event`;
}

function titled(type: string): string {
  return type.replace(/(?:^|[._])(\w)/g, (_, first: string) => first.toUpperCase());
}
