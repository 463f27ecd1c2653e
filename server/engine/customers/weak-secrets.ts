/** Finds signing secrets that are short enough to be guessed from one signed webhook. */

import type { Customer } from "../../core/customer.ts";
import { listWebhooks } from "../../store/webhooks.ts";
import type { EngineDeps } from "../engine-deps.ts";
import { customerSecretPlace, endpointSecretPlace } from "../secret-places.ts";

/** A signing secret with fewer characters causes a warning. */
const SECRET_LENGTH_MIN = 16;

/** One line for each signing secret of the customer and its endpoints that has fewer than 16 characters. */
export async function weakSecrets(deps: Pick<EngineDeps, "store" | "sealer">, customer: Customer): Promise<string[]> {
  const endpoints = await listWebhooks(deps.store.db, customer.id);
  const secrets = [
    {
      sealed: customer.secret,
      place: customerSecretPlace(customer.id),
      of: "the primary endpoint and every callbackUrl",
    },
    ...endpoints.flatMap(({ id, secret }) =>
      secret === null ? [] : [{ sealed: secret, place: endpointSecretPlace(id), of: `the endpoint ${id}` }],
    ),
  ];
  return secrets.flatMap(({ sealed, place, of }) => {
    const length = lengthOf(deps, sealed, place);
    if (length === null || length >= SECRET_LENGTH_MIN) return [];
    return [
      `The signing secret of ${of} has ${length} characters and can be guessed: rotate it, or set one of at least ${SECRET_LENGTH_MIN}.`,
    ];
  });
}

/** Characters of a sealed secret; null if it cannot be opened, which its deliveries report. */
function lengthOf({ sealer }: Pick<EngineDeps, "sealer">, sealed: string, place: string): number | null {
  try {
    return sealer.open(sealed, place).length;
  } catch {
    return null;
  }
}
