/** The places to which sealed secrets are bound, and how one is opened. A previous secret has the same place as the present one. */

import type { CustomerId, EndpointId, InstanceId } from "../core/id.ts";
import type { Sealer } from "../secrets.ts";

/** Place of `secret` and `previousSecret` of a customer: they sign the deliveries of the primary endpoint and callbacks. */
export function customerSecretPlace(id: CustomerId): string {
  return `customers|${id}|secret`;
}

/** Place of `secret` and `previousSecret` of a further endpoint or an inbox. */
export function endpointSecretPlace(id: EndpointId): string {
  return `endpoints|${id}|secret`;
}

/** Place of the settings of a provider instance. */
export function instanceSecretPlace(id: InstanceId): string {
  return `instances|${id}|config`;
}

/** Place of a secret among the settings of the database. */
export function settingSecretPlace(name: string): string {
  return `settings|${name}|value`;
}

/** The plain text of a sealed secret; null if it cannot be opened, which its deliveries report. */
export function openedSecret(sealer: Pick<Sealer, "open">, sealed: string, place: string): string | null {
  try {
    return sealer.open(sealed, place);
  } catch {
    return null;
  }
}
