/** Contacts by their addresses, and their names. Pure. */

import type { Contact } from "../../sdk/wire.ts";

/** Contacts as they were read. */
interface ReadBook {
  contacts: readonly Contact[];
  /** Whether there are no others. */
  isWhole: boolean;
}

/** Contacts that are found by an address, or by a part of a name. */
export interface Book {
  isWhole: boolean;
  byAddress: ReadonlyMap<string, Contact>;
  /** The contacts whose name, company or address contains a text; none for no text. */
  search(text: string): readonly Contact[];
}

/** The addresses of a contact, the number first. */
export function addressesOf({ phoneNumber, email }: Pick<Contact, "phoneNumber" | "email">): string[] {
  return [phoneNumber, email].filter((address) => address !== null);
}

/** The country codes of phones with two written forms, which the service knows: Mexico, Argentina, Brazil, Benin, Ivory Coast. */
const TWO_FORMS = /^\+(?:5[245]|22[59])/;

/** Whether the contact of an address may have the other form of it: then only the service can tell. */
export function mayHaveForms(address: string): boolean {
  return TWO_FORMS.test(address);
}

/**
 * The contact of an address among those that the service found by it: their numbers contain the address or its other form. Both forms of a
 * phone end with the same 8 digits.
 */
export function contactAmong(found: readonly Contact[], address: string): Contact | null {
  const exact = found.find((contact) => addressesOf(contact).includes(address));
  if (exact !== undefined || !mayHaveForms(address)) return exact ?? null;
  const end = address.slice(-8);
  return (
    found.find(({ phoneNumber }) => phoneNumber !== null && mayHaveForms(phoneNumber) && phoneNumber.endsWith(end)) ??
    null
  );
}

/** The name of a contact, else of the company; null without either. */
export function nameOf({ firstName, lastName, company }: Pick<Contact, "firstName" | "lastName" | "company">) {
  return [firstName, lastName].filter(Boolean).join(" ") || company || null;
}

/** The book of what was read. */
export function bookOf({ contacts, isWhole }: ReadBook): Book {
  const byAddress = new Map(
    contacts.flatMap((contact) => addressesOf(contact).map((address) => [address, contact] as const)),
  );
  const texts = contacts.map((contact) => ({ contact, text: searchTextOf(contact) }));
  return {
    isWhole,
    byAddress,
    search: (wanted) => {
      const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
      if (words.length === 0) return [];
      return texts.filter(({ text }) => words.every((word) => text.includes(word))).map(({ contact }) => contact);
    },
  };
}

function searchTextOf(contact: Contact): string {
  return [nameOf(contact), contact.company, ...addressesOf(contact)].join(" ").toLowerCase();
}
