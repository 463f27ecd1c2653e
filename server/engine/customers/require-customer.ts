/** Finds the customer of a request. */

import type { Customer } from "../../core/customer.ts";
import { ApiError } from "../../core/error.ts";
import type { CustomerId } from "../../core/id.ts";
import { findCustomer } from "../../store/customers.ts";
import type { Deps } from "../deps.ts";

/** The stored customer with this id. Throws 404 `NOT_FOUND`. */
export async function requireCustomer({ store }: Pick<Deps, "store">, customerId: CustomerId): Promise<Customer> {
  const customer = await findCustomer(store.db, customerId);
  if (customer !== null) return customer;
  throw new ApiError("NOT_FOUND", `There is no customer ${customerId}.`);
}
