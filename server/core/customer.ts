/** Customers: the owners of keys, numbers, messages and endpoints, and the secret that signs their webhooks. */

import type { OptOutSettings, QuietHours, Route, Customer as WireCustomer } from "../../sdk/wire.ts";
import type { CustomerId } from "./id.ts";
import { iso } from "./instant.ts";

export interface Customer {
  id: CustomerId;
  /**
   * Incremented by every change of the customer, its numbers or its endpoints, so that these changes happen one at a
   * time.
   */
  version: number;
  name: string;
  email: string | null;
  company: string | null;
  /** Sealed: signs the deliveries of the primary endpoint and of every `callbackUrl`. */
  secret: string;
  /** Whether `secret` was shown or set: until then the next `PUT /v1/webhooks` shows it. */
  secretKnown: boolean;
  /** Sealed: signs along with `secret` until `previousSecretUntil` (real time). */
  previousSecret: string | null;
  previousSecretUntil: number | null;
  /** Routes of its SMS to instances, by prefix of the recipient. */
  routes: Route[];
  /** Quiet hours of its messages; null: none. */
  quietHours: QuietHours | null;
  /** How its contacts opt out and in again; null: as the service does by default. */
  optOuts: OptOutSettings | null;
  createdAt: number;
  updatedAt: number;
}

/** The record as the API answers it. */
export function customerRecord(customer: Customer): WireCustomer {
  return {
    id: customer.id,
    name: customer.name,
    email: customer.email,
    company: customer.company,
    createdAt: iso(customer.createdAt),
  };
}
