/** The grace period of a rotated secret. Pure. */

import type { Webhook } from "../../../sdk/wire.ts";

/** A period in milliseconds since 1970. */
export interface Grace {
  from: number;
  until: number;
}

/**
 * The grace period of an endpoint; null without one. Its start is the endpoint's last change, which is the rotation unless
 * somebody changed the endpoint since.
 */
export function graceOf(endpoint: Pick<Webhook, "previousSecretExpiresAt" | "updatedAt">): Grace | null {
  if (endpoint.previousSecretExpiresAt === null) return null;
  return { from: Date.parse(endpoint.updatedAt), until: Date.parse(endpoint.previousSecretExpiresAt) };
}

/** The share of the period that is left, above 0 and at most 1; null once it is over. A moved clock may have put the start behind the end. */
export function shareLeft(grace: Grace | null, now: number): number | null {
  if (grace === null || now >= grace.until) return null;
  return Math.min(1, (grace.until - now) / Math.max(1, grace.until - grace.from));
}
