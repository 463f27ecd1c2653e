/** Contacts: the people a customer writes with, what they are searched by, and their record on the wire. Pure. */

import type { Metadata, Contact as WireContact } from "../../sdk/wire.ts";
import type { ContactId, CustomerId } from "./id.ts";
import { iso, isoOrNull } from "./instant.ts";
import { parseAddress } from "./phone.ts";
import { searchForm } from "./search.ts";

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
  /** What a search looks through: names, addresses and company as `searchForm` has them. */
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

/** What people say of a contact; null where there is nothing. */
export type ContactFields = Pick<
  Contact,
  "firstName" | "lastName" | "phoneNumber" | "email" | "company" | "tags" | "metadata"
>;

/** Fields as a caller names them: those left out stay as they are, null and an empty text are nothing. */
export type ContactChanges = { readonly [Field in keyof ContactFields]?: ContactFields[Field] | undefined };

/** A contact that nothing is known of yet. */
export const NO_FIELDS: ContactFields = {
  firstName: null,
  lastName: null,
  phoneNumber: null,
  email: null,
  company: null,
  tags: [],
  metadata: null,
};

/** The fields `before`, changed to what `given` names: e-mails in the form they are compared in, each tag once. */
export function changeFields(before: ContactFields, given: ContactChanges): ContactFields {
  const { firstName, lastName, phoneNumber, email, company, tags, metadata } = { ...before, ...named(given) };
  return {
    firstName: orNull(firstName),
    lastName: orNull(lastName),
    phoneNumber: orNull(phoneNumber),
    email: email === null ? null : (parseAddress(email)?.address ?? email),
    company: orNull(company),
    tags: [...new Set(tags)],
    metadata,
  };
}

/** The fields that have a value: leaving one out is not the same as naming it with nothing. */
function named(given: ContactChanges): Partial<ContactFields> {
  return Object.fromEntries(
    Object.keys(NO_FIELDS)
      .map((field) => [field, given[field as keyof ContactFields]] as const)
      .filter(([, value]) => value !== undefined),
  );
}

function orNull(text: string | null): string | null {
  return text === "" ? null : text;
}

/** The addresses by which a contact can be reached, and of which there is one at least. */
export function addressesOf({ phoneNumber, email }: Pick<Contact, "phoneNumber" | "email">): string[] {
  return [phoneNumber, email].filter((address) => address !== null);
}

/** What a search looks through. First and last name stand together, so that a whole name is found. */
export function searchTextOf(fields: ContactFields): string {
  const { firstName, lastName, phoneNumber, email, company } = fields;
  const name = [firstName, lastName].filter((part) => part !== null).join(" ");
  return searchForm([name, phoneNumber, email, company].filter((part) => part !== null && part !== "").join("\n"));
}

/** The record as the API answers it. `lastContactedAt` in epoch milliseconds. */
export function contactRecord(contact: Contact, lastContactedAt: number | null): WireContact {
  const { id, firstName, lastName, phoneNumber, email, company, tags, metadata, createdAt, updatedAt } = contact;
  return {
    ...{ id, firstName, lastName, phoneNumber, email, company, tags, metadata },
    lastContactedAt: isoOrNull(lastContactedAt),
    createdAt: iso(createdAt),
    updatedAt: iso(updatedAt),
  };
}
