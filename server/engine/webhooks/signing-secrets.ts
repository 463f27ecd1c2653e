/** The secrets that sign the webhooks of a delivery. */

import type { Clock } from "../../clock.ts";
import type { Delivery } from "../../core/delivery.ts";
import type { Sealer } from "../../secrets.ts";
import { customerSecretPlace, endpointSecretPlace } from "../secret-places.ts";
import type { Target } from "./record-attempt.ts";

/**
 * The decrypted secrets: the endpoint's own, or the customer's for the primary endpoint and for callbacks. `previousSecret` signs too until
 * its time is over. Throws if there is none, or if one cannot be decrypted.
 */
export function signingSecrets(
  { clock, sealer }: { clock: Pick<Clock, "real">; sealer: Pick<Sealer, "open"> },
  { customerId }: Delivery,
  { endpoint, signer }: Target,
) {
  const own = endpoint !== null && endpoint.secret !== null;
  const place = own ? endpointSecretPlace(endpoint.id) : customerSecretPlace(customerId);
  const holder = own ? endpoint : signer;
  if (holder === null || holder.secret === null) throw new Error(`there is no secret at ${place}`);
  const inGrace = holder.previousSecretUntil !== null && holder.previousSecretUntil > clock.real();
  const previous = inGrace ? holder.previousSecret : null;
  return {
    secret: sealer.open(holder.secret, place),
    previousSecret: previous === null ? null : sealer.open(previous, place),
  };
}
