/** Finds signing secrets that can be guessed from one signed webhook, or that make no signature of Standard Webhooks although they look so. */

import type { Customer } from "../../core/customer.ts";
import { isBrokenStandardSecret } from "../../core/signature.ts";
import { listWebhooks } from "../../store/webhooks.ts";
import type { EngineDeps } from "../engine-deps.ts";
import { customerSecretPlace, endpointSecretPlace, openedSecret } from "../secret-places.ts";

/** A signing secret with fewer characters causes a warning. */
const SECRET_LENGTH_MIN = 16;

/** A line for each fault of a signing secret of the customer and its endpoints. */
export async function secretWarnings(
  deps: Pick<EngineDeps, "store" | "sealer">,
  customer: Customer,
): Promise<string[]> {
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
    const secret = openedSecret(deps.sealer, sealed, place);
    return secret === null ? [] : faultsOf(secret).map((fault) => `The signing secret of ${of} ${fault}`);
  });
}

function faultsOf(secret: string): string[] {
  const { length } = secret;
  const faults: string[] = [];
  if (length < SECRET_LENGTH_MIN)
    faults.push(`has ${length} characters and can be guessed: rotate it, or set one of at least ${SECRET_LENGTH_MIN}.`);
  if (isBrokenStandardSecret(secret))
    faults.push(
      "begins with whsec_, but base64 of 24 to 64 bytes does not follow: its webhooks have X-Signature, and no webhook-signature. Rotate it, or set another.",
    );
  return faults;
}
