/** Creates, changes and deletes contacts. Each address is a unique record, so that no two contacts of a customer share one. */

import type { CreateContact, CreatedContacts, UpdateContact } from "../../../sdk/wire.ts";
import {
  addressesOf,
  addressKeysOf,
  type Contact,
  type ContactAddress,
  type ContactChanges,
  type ContactFields,
  changeFields,
  NO_FIELDS,
  searchTextOf,
} from "../../core/contact.ts";
import { ApiError } from "../../core/error.ts";
import type { CustomerId } from "../../core/id.ts";
import { parseAddress } from "../../core/phone.ts";
import { phoneKey } from "../../core/phone-forms.ts";
import { findContact, findContactAddresses, findContacts } from "../../store/contacts.ts";
import type { Operation } from "../../store/store.ts";
import { change, decide, difference } from "../commit.ts";
import type { Deps } from "../deps.ts";
import { idempotent } from "../idempotency.ts";

/** Most attempts at a bulk request whose addresses other requests take at the same time. */
const ROUNDS_MAX = 5;
const BUSY_RETRY_AFTER_SECONDS = 1;

/** The created contact; `repeated` if an earlier request with the same idempotency key created it. */
export interface ContactResult {
  repeated: boolean;
  contact: Contact;
}

/**
 * Creates a contact. Throws a 400 without any address, and 409 `CONTACT_DUPLICATE` if another contact of the customer
 * has one of them. A repeat of an idempotency key returns the contact's current state: 404 once it is deleted.
 */
export async function createContact(
  deps: Deps,
  customerId: CustomerId,
  request: { idempotencyKey: string | null; body: CreateContact },
): Promise<ContactResult> {
  const { idempotencyKey: key, body } = request;
  const { idempotencyKey: _, ...given } = body;
  const fields = requireAddress(changeFields(NO_FIELDS, given));
  const idempotentRequest = { key, customerId, route: "POST /v1/contacts", body: given };
  const decision = async () => {
    const [taken] = await findContactAddresses(deps.store.db, customerId, addressKeysOf(fields));
    if (taken !== undefined) throw duplicate(withKey(fields, taken.address), taken.contactId);
    const contact = newContact(deps, customerId, fields);
    return { transaction: makingOf(contact), value: contact, result: contact.id };
  };
  const result = await idempotent(deps, idempotentRequest, decision, () => duplicate(addressesOf(fields), null));
  if (!result.repeated) return { repeated: false, contact: result.value };
  return { repeated: true, contact: await requireContact(deps, customerId, result.firstResult) };
}

/** Creates a contact with this phone number or e-mail address unless one exists. Concurrent calls create one. */
export async function ensureContact(deps: Deps, customerId: CustomerId, address: string): Promise<void> {
  const given = parseAddress(address)?.kind === "email" ? { email: address } : { phoneNumber: address };
  const fields = changeFields(NO_FIELDS, given);
  const [known] = await findContactAddresses(deps.store.db, customerId, addressKeysOf(fields));
  if (known !== undefined) return;
  await decide(deps, () => ({ transaction: makingOf(newContact(deps, customerId, fields)), value: undefined }));
}

/** One entry of a bulk request: the fields of a contact, or the error. */
export type BulkEntry = { fields: UpdateContact } | { error: string };

/** The result of a bulk request; `repeated` if it is that of an earlier request with the same idempotency key. */
export interface BulkResult {
  repeated: boolean;
  made: CreatedContacts;
}

/**
 * Creates a contact of each valid entry, all in one transaction. An entry without an address, or with one
 * that another contact or an earlier entry has, fails by itself.
 */
export async function createContacts(
  deps: Deps,
  customerId: CustomerId,
  request: { idempotencyKey: string | null; body: unknown; entries: readonly BulkEntry[] },
): Promise<BulkResult> {
  const { idempotencyKey: key, body, entries } = request;
  const idempotentRequest = { key, customerId, route: "POST /v1/contacts/bulk", body };
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const taken = new Error("another request took an address at the same moment");
    try {
      const result = await idempotent(
        deps,
        idempotentRequest,
        () => decideMany(deps, customerId, entries),
        () => taken,
      );
      if (!result.repeated) return { repeated: false, made: result.value };
      return { repeated: true, made: JSON.parse(result.firstResult) as CreatedContacts };
    } catch (error) {
      if (error !== taken) throw error;
    }
  }
  throw new ApiError("SERVICE_UNAVAILABLE", "Many requests are changing these contacts at once; try again.", {
    retryAfterSeconds: BUSY_RETRY_AFTER_SECONDS,
  });
}

async function decideMany(deps: Deps, customerId: CustomerId, entries: readonly BulkEntry[]) {
  const wanted = entries.map((entry) => ("error" in entry ? entry : changeFields(NO_FIELDS, entry.fields)));
  const addresses = wanted.flatMap((fields) => ("error" in fields ? [] : addressKeysOf(fields)));
  const taken = await findContactAddresses(deps.store.db, customerId, addresses);
  const owners = new Map<string, string>(taken.map(({ address, contactId }) => [address, contactId]));
  const transaction: Operation[] = [];
  const errors: CreatedContacts["errors"] = [];
  for (const [index, fields] of wanted.entries()) {
    try {
      if ("error" in fields) throw new ApiError("VALIDATION_ERROR", fields.error);
      const own = addressKeysOf(requireAddress(fields));
      const double = own.find((address) => owners.has(address));
      if (double !== undefined)
        throw new ApiError("CONTACT_DUPLICATE", `${takenBy(fieldOf(double), owners.get(double))}.`);
      const contact = newContact(deps, customerId, fields);
      for (const address of own) owners.set(address, contact.id);
      transaction.push(...makingOf(contact));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      errors.push({ index, error: withoutValues(error.message) });
    }
  }
  const made: CreatedContacts = { created: entries.length - errors.length, failed: errors.length, errors };
  return { transaction, value: made, result: JSON.stringify(made) };
}

/**
 * Changes the given fields. Throws 404 for a contact that the customer does not have, a 400 if no address would
 * remain, and 409 `CONTACT_DUPLICATE` if another contact has the new address.
 */
export async function updateContact(
  deps: Deps,
  customerId: CustomerId,
  id: string,
  given: ContactChanges,
): Promise<Contact> {
  let added: string[] = [];
  const decided = await decide(deps, async () => {
    const before = await requireContact(deps, customerId, id);
    const fields = requireAddress(changeFields(before, given));
    const [removed, kept] = [addressKeysOf(before), addressKeysOf(fields)];
    const claimed = kept.filter((address) => !removed.includes(address));
    added = claimed.flatMap((key) => withKey(fields, key));
    const [taken] = await findContactAddresses(deps.store.db, customerId, claimed);
    if (taken !== undefined && taken.contactId !== before.id) {
      throw duplicate(withKey(fields, taken.address), taken.contactId);
    }
    if (isSame(before, fields)) return { transaction: null, value: before };
    const after: Contact = { ...before, ...fields, searchText: searchTextOf(fields), updatedAt: deps.clock.now() };
    const gone = removed.filter((address) => !kept.includes(address));
    const contactId = before.id;
    // The update comes first: if the contact has changed, the transaction conflicts before its addresses are checked.
    const transaction: Operation[] = [
      { op: "update", table: "contacts", id: before.id, version: before.version, set: difference(before, after) },
      ...gone.map((address): Operation => forgetting({ customerId, address, contactId })),
      ...claimed.map((address): Operation => claiming({ customerId, address, contactId })),
    ];
    return { transaction, value: after };
  });
  if (decided.taken) throw duplicate(added, null);
  return decided.value;
}

function isSame(before: Contact, fields: ContactFields): boolean {
  const kept = Object.keys(NO_FIELDS) as (keyof ContactFields)[];
  return kept.every((field) => JSON.stringify(before[field]) === JSON.stringify(fields[field]));
}

/** Deletes the contacts of the customer among `ids`, all or none; returns their number. */
export async function deleteContacts(deps: Deps, customerId: CustomerId, ids: readonly string[]): Promise<number> {
  return await change(deps, async () => {
    const contacts = await findContacts(deps.store.db, customerId, [...new Set(ids)]);
    const transaction = contacts.flatMap(deletionOf);
    return { transaction: transaction.length === 0 ? null : transaction, value: contacts.length };
  });
}

/** Deletes a contact and its addresses. */
export function deletionOf(contact: Contact): Operation[] {
  const { id, version, customerId } = contact;
  return [
    // An address added after the read would be left behind, so the deletion requires the version that was read.
    { op: "update", table: "contacts", id, version, set: {} },
    { op: "delete", table: "contacts", where: { id } },
    ...addressKeysOf(contact).map((address): Operation => forgetting({ customerId, address, contactId: id })),
  ];
}

/** A customer's contact. Throws 404 `NOT_FOUND`. */
export async function requireContact(deps: Deps, customerId: CustomerId, id: string): Promise<Contact> {
  const contact = await findContact(deps.store.db, customerId, id);
  if (contact === null) throw new ApiError("NOT_FOUND", `There is no contact ${id}.`);
  return contact;
}

function newContact(deps: Deps, customerId: CustomerId, fields: ContactFields): Contact {
  const now = deps.clock.now();
  return {
    id: deps.newId("con"),
    version: 1,
    customerId,
    ...fields,
    searchText: searchTextOf(fields),
    createdAt: now,
    updatedAt: now,
  };
}

/** Operations that create a contact, unless another contact has one of its addresses. */
function makingOf(contact: Contact): Operation[] {
  const { id: contactId, customerId } = contact;
  const claims = addressKeysOf(contact).map((address) => claiming({ customerId, address, contactId }));
  return [...claims, { op: "insert", table: "contacts", record: contact }];
}

function claiming(record: ContactAddress): Operation {
  return { op: "insertUnique", table: "contactAddresses", record };
}

/** Those of the addresses that have a key. */
function withKey(fields: ContactFields, key: string): string[] {
  return addressesOf(fields).filter((address) => phoneKey(address) === key);
}

function forgetting(where: ContactAddress): Operation {
  return { op: "delete", table: "contactAddresses", where };
}

function requireAddress(fields: ContactFields): ContactFields {
  if (addressesOf(fields).length > 0) return fields;
  const message = "a contact needs a phoneNumber or an email";
  const details = ["phoneNumber", "email"].map((path) => ({ path, message }));
  throw new ApiError("VALIDATION_ERROR", `phoneNumber, email: ${message}`, { details });
}

/** A reason without what the caller has written: it is kept with the idempotency key, where an erasure of the contact does not look. */
function withoutValues(reason: string): string {
  return reason
    .split("; got ", 1)
    .join("")
    .replace(/"(?:[^"\\]|\\.?)*"?/gs, "…");
}

function fieldOf(address: string): "email" | "phoneNumber" {
  return address.includes("@") ? "email" : "phoneNumber";
}

function takenBy(what: string, contactId: string | null | undefined): string {
  const who = contactId == null ? "another contact" : `the contact ${contactId}`;
  return `${what} already belongs to ${who}; change that contact with PUT`;
}

function duplicate(addresses: readonly string[], contactId: string | null): ApiError {
  const message = takenBy(addresses.join(" or "), contactId);
  const details = addresses.map((address) => ({ path: fieldOf(address), message }));
  return new ApiError("CONTACT_DUPLICATE", `${message}.`, { details });
}
