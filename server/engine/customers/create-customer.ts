/** Creates a customer: the record, its signing secret and its inbox, in one transaction. */

import type { CreateCustomer } from "../../../sdk/wire.ts";
import type { Customer } from "../../core/customer.ts";
import type { CustomerId } from "../../core/id.ts";
import { newSigningSecret } from "../../core/signature.ts";
import type { Endpoint } from "../../core/webhook.ts";
import { findCustomer } from "../../store/customers.ts";
import type { Transaction } from "../../store/store.ts";
import type { With } from "../engine-deps.ts";
import { idempotent } from "../idempotency.ts";
import { customerSecretPlace, endpointSecretPlace } from "../secret-places.ts";

/** Path of an inbox on this server, before its token. Stored without a host, because host and port may change. */
export const INBOX_PATH = "/sandbox/inbox/";

const TOKEN_BYTES = 16;

/** The created customer; `repeated` if an earlier request with the same idempotency key created it. */
export interface CreatedCustomer {
  repeated: boolean;
  customer: Customer;
}

/** Creates a customer. A repeat of an idempotency key returns the current state of the first request's customer. */
export async function createCustomer(
  deps: With<"configCache" | "sealer">,
  request: { idempotencyKey: string | null; body: CreateCustomer },
): Promise<CreatedCustomer> {
  const { idempotencyKey: key, body } = request;
  const idempotentRequest = { key, customerId: null, route: "POST /v1/admin/customers", body };
  const result = await idempotent(deps, idempotentRequest, async () => {
    const { customer, transaction } = newCustomer(deps, body);
    return { transaction, value: customer, result: customer.id };
  });
  if (!result.repeated) {
    deps.configCache.clear();
    return { repeated: false, customer: result.value };
  }
  const first = await findCustomer(deps.store.db, result.firstResult as CustomerId);
  if (first === null) throw new Error(`${result.firstResult} is gone`);
  return { repeated: true, customer: first };
}

/** A new customer whose secret nobody has seen, and the transaction that creates it with its inbox. */
export function newCustomer(
  deps: With<"sealer">,
  body: CreateCustomer,
): { customer: Customer; transaction: Transaction } {
  const id = deps.newId("cust");
  const now = deps.clock.now();
  const customer: Customer = {
    id,
    version: 1,
    name: body.name,
    email: body.email ?? null,
    company: body.company ?? null,
    secret: deps.sealer.seal(newSigningSecret(deps.random), customerSecretPlace(id)),
    secretKnown: false,
    previousSecret: null,
    previousSecretUntil: null,
    routes: [],
    quietHours: null,
    optOuts: null,
    createdAt: now,
    updatedAt: now,
  };
  const transaction: Transaction = [
    { op: "insert", table: "customers", record: customer },
    { op: "insert", table: "endpoints", record: newInbox(deps, id) },
  ];
  return { customer, transaction };
}

/** The endpoint of a customer's inbox: all events, its own secret, active if inboxes are on. */
function newInbox(deps: With<"sealer">, customerId: CustomerId): Endpoint {
  const id = deps.newId("wh");
  const now = deps.clock.now();
  return {
    id,
    version: 1,
    customerId,
    kind: "inbox",
    name: null,
    url: INBOX_PATH + Buffer.from(deps.random(TOKEN_BYTES)).toString("hex"),
    events: ["*"],
    active: deps.settings.sandboxInbox,
    maxInFlight: null,
    secret: deps.sealer.seal(newSigningSecret(deps.random), endpointSecretPlace(id)),
    previousSecret: null,
    previousSecretUntil: null,
    goneSince: null,
    createdAt: now,
    updatedAt: now,
  };
}
