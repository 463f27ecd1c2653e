/** Contacts: the people a customer writes with, and their record on the wire. */

import type { Metadata } from "../../sdk/wire.ts";
import type { ContactId, CustomerId } from "./id.ts";

export interface Contact {
  id: ContactId;
  version: number;
  customerId: CustomerId;
  firstName: string | null;
  lastName: string | null;
  phoneNumber: string | null;
  email: string | null;
  company: string | null;
  tags: string[];
  metadata: Metadata | null;
  /** What a search looks through: names, addresses and company in lower case. */
  searchText: string;
  createdAt: number;
  updatedAt: number;
}

/** One address of a contact: a customer's contacts share none. */
export interface ContactAddress {
  customerId: CustomerId;
  address: string;
  contactId: ContactId;
}
