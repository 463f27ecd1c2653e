/** Contacts of a customer, their search text, and their record in the API. Pure. */

import type { Metadata, Contact as WireContact } from "../../sdk/wire.ts";
import type { ContactId, CustomerId } from "./id.ts";
import { iso, isoOrNull } from "./instant.ts";
import { parseAddress } from "./phone.ts";
import { phoneKey } from "./phone-forms.ts";
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
  /** Searched text: names, addresses and company in `searchForm`. */
  searchText: string;
  createdAt: number;
  updatedAt: number;
}

/** One address of a contact: a customer's contacts share none. */
export interface ContactAddress {
  customerId: CustomerId;
  /** Its `phoneKey`: no two contacts have forms of one phone. */
  address: string;
  contactId: ContactId;
}

/** Fields of a contact that callers set; null if empty. */
export type ContactFields = Pick<
  Contact,
  "firstName" | "lastName" | "phoneNumber" | "email" | "company" | "tags" | "metadata"
>;

/** Changes by a caller: omitted fields stay, null and an empty text clear a field. */
export type ContactChanges = { readonly [Field in keyof ContactFields]?: ContactFields[Field] | undefined };

/** The fields of a contact without any. */
export const NO_FIELDS: ContactFields = {
  firstName: null,
  lastName: null,
  phoneNumber: null,
  email: null,
  company: null,
  tags: [],
  metadata: null,
};

/** Applies changes to the fields: normalizes the e-mail address and removes repeated tags. */
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

/** The given fields: an omitted field differs from an empty one. */
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

/** The addresses of a contact; a contact has at least one. */
export function addressesOf({ phoneNumber, email }: Pick<Contact, "phoneNumber" | "email">): string[] {
  return [phoneNumber, email].filter((address) => address !== null);
}

/** The keys of its addresses: those of two contacts differ. */
export function addressKeysOf(fields: Pick<Contact, "phoneNumber" | "email">): string[] {
  return addressesOf(fields).map(phoneKey);
}

/** The searched text of a contact. First and last name are adjacent, so that a whole name is found. */
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
