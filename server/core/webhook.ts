/** Endpoints: where a customer's events go, and the records of them on the wire. */

import type { EventType, SigningSecret, Webhook } from "../../sdk/wire.ts";
import type { CustomerId, EndpointId } from "./id.ts";
import { iso, isoOrNull } from "./instant.ts";

/** The primary endpoint of `PUT /v1/webhooks`, a further endpoint, or the sandbox's built-in inbox (in no list). */
export type EndpointKind = "primary" | "extra" | "inbox";

export interface Endpoint {
  id: EndpointId;
  version: number;
  customerId: CustomerId;
  kind: EndpointKind;
  name: string | null;
  url: string;
  events: (EventType | "*")[];
  active: boolean;
  /** Concurrent attempts, 1 to 256; null: the number of the settings. */
  maxInFlight: number | null;
  /** Sealed; null for the primary endpoint, which signs with its customer's secret. */
  secret: string | null;
  /** Sealed: signs along with `secret` until `previousSecretUntil` (real time). */
  previousSecret: string | null;
  previousSecretUntil: number | null;
  /** Since when its receiver answers 410, by the clock that drives retries (`core/gone-receivers.ts`); null: it is not known to be gone. */
  goneSince: number | null;
  createdAt: number;
  updatedAt: number;
}

/**
 * Whether an event of `type` goes to the endpoint. Test events are not checked here: `testWebhook` creates their
 * delivery.
 */
export function subscribes(endpoint: Pick<Endpoint, "active" | "events">, type: EventType): boolean {
  if (!endpoint.active) return false;
  return endpoint.events.includes("*") || endpoint.events.includes(type);
}

/** The fields of an endpoint's record that its row does not have. */
interface ShownWebhook {
  /** The default. */
  maxInFlight: number;
  /** Whether the secret that the endpoint signs with makes signatures of Standard Webhooks. */
  standardWebhooks: boolean;
  /** The end of the grace period of the secret that the endpoint signs with; null without one. */
  graceUntil: number | null;
  /** Only if this request generated it. */
  secret: string | null;
}

/** The record as the API answers it. */
export function webhookRecord(endpoint: Endpoint, shown: ShownWebhook): Webhook {
  const { maxInFlight, standardWebhooks, graceUntil, secret } = shown;
  return {
    id: endpoint.id,
    name: endpoint.name,
    url: endpoint.url,
    events: endpoint.events,
    active: endpoint.active,
    primary: endpoint.kind === "primary",
    maxInFlight: endpoint.maxInFlight ?? maxInFlight,
    standardWebhooks,
    isGone: endpoint.goneSince !== null,
    createdAt: iso(endpoint.createdAt),
    updatedAt: iso(endpoint.updatedAt),
    previousSecretExpiresAt: isoOrNull(graceUntil),
    ...(secret === null ? {} : { secret }),
  };
}

/** The record of a rotation without a primary endpoint. */
export function signingSecretRecord({
  graceUntil,
  secret,
}: Pick<ShownWebhook, "graceUntil" | "secret">): SigningSecret {
  return {
    id: null,
    name: null,
    url: null,
    events: null,
    active: null,
    primary: null,
    maxInFlight: null,
    standardWebhooks: null,
    isGone: null,
    createdAt: null,
    updatedAt: null,
    previousSecretExpiresAt: isoOrNull(graceUntil),
    ...(secret === null ? {} : { secret }),
  };
}
