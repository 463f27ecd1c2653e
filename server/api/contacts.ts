/** Routes of contacts: create, list, get, update and delete them, one by one or in bulk. */

import {
  ContactsQuery,
  CreateContact,
  CreateContacts,
  DeleteContactQuery,
  DeleteContacts,
  UpdateContact,
} from "../../contract/contacts.ts";
import type {
  ContactList,
  Deleted,
  DeletedContact,
  DeletedContacts,
  Contact as WireContact,
  UpdateContact as WireUpdateContact,
} from "../../sdk/wire.ts";
import { type Contact, contactRecord } from "../core/contact.ts";
import { ApiError } from "../core/error.ts";
import { isoOrNull } from "../core/instant.ts";
import {
  type BulkEntry,
  createContact,
  createContacts,
  deleteContacts,
  requireContact,
  updateContact,
} from "../engine/contacts/contacts.ts";
import { eraseContact } from "../engine/contacts/erase.ts";
import type { Deps } from "../engine/deps.ts";
import { contactList, findLastContacts } from "../store/contacts.ts";
import { countAll, readPage } from "../store/list-windows.ts";
import { listReader } from "./list-reader.ts";
import { compileCheck } from "./pipeline/validate.ts";
import { type Route, route } from "./route.ts";

export function contactRoutes(deps: Deps): Route[] {
  return [createRoute(deps), listRoute(deps), ...bulkRoutes(deps), ...oneContactRoutes(deps)];
}

function createRoute(deps: Deps): Route {
  return route({
    method: "POST",
    path: "/v1/contacts",
    scope: "messages",
    body: CreateContact,
    async handle({ caller: { customerId }, body, idempotencyKey }) {
      const { repeated, contact } = await createContact(deps, customerId, { idempotencyKey, body });
      return { status: repeated ? 200 : 201, data: await recordOf(deps, contact) };
    },
  });
}

function listRoute(deps: Deps): Route {
  return route({
    method: "GET",
    path: "/v1/contacts",
    scope: "messages",
    query: ContactsQuery,
    async handle(request) {
      const { caller, query } = request;
      const { limit, offset, tag } = query;
      const db = listReader(deps, request);
      const list = contactList(db, caller.customerId, { search: searched(query.search ?? ""), tag });
      const total = await countAll(list);
      const { records: found } = await readPage(list, { from: null, skip: offset }, limit);
      const contacts = await recordsOf(db, found);
      const hasMore = offset + found.length < total;
      const data: ContactList = { contacts, pagination: { total, limit, offset, hasMore } };
      return { data };
    },
  });
}

/** The search text. A leading space before a digit was the `+` of a phone number before decoding. */
function searched(text: string): string {
  return text.replace(/^ (?=\d)/, "+");
}

function bulkRoutes(deps: Deps): Route[] {
  const check = compileCheck("body", UpdateContact);
  const entryOf = (fields: WireUpdateContact): BulkEntry => {
    const [bad] = check(fields);
    return bad === undefined ? { fields } : { error: `${bad.path}: ${bad.message}` };
  };
  return [
    route({
      method: "POST",
      path: "/v1/contacts/bulk",
      scope: "messages",
      body: CreateContacts,
      async handle({ caller: { customerId }, body, idempotencyKey }) {
        const entries = body.contacts.map(entryOf);
        const request = { idempotencyKey, body: { contacts: body.contacts }, entries };
        const { repeated, made } = await createContacts(deps, customerId, request);
        return { status: repeated || made.created === 0 ? 200 : 201, data: made };
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/contacts/bulk",
      scope: "messages",
      body: DeleteContacts,
      async handle({ caller: { customerId }, body }) {
        const data: DeletedContacts = { deleted: await deleteContacts(deps, customerId, body.ids) };
        return { data };
      },
    }),
  ];
}

function oneContactRoutes(deps: Deps): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/contacts/:id",
      scope: "messages",
      async handle({ caller: { customerId }, params: { id } }) {
        return { data: await recordOf(deps, await requireContact(deps, customerId, id)) };
      },
    }),
    route({
      method: "PUT",
      path: "/v1/contacts/:id",
      scope: "messages",
      body: UpdateContact,
      async handle({ caller: { customerId }, params: { id }, body }) {
        return { data: await recordOf(deps, await updateContact(deps, customerId, id, body)) };
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/contacts/:id",
      scope: "messages",
      query: DeleteContactQuery,
      async handle({ caller: { customerId }, params: { id }, query: { erase } }) {
        if (erase === true) {
          const { completedAt } = await eraseContact(deps, customerId, id);
          const data: DeletedContact = { id, deleted: true, erasedAt: isoOrNull(completedAt) };
          return { data };
        }
        const deleted = await deleteContacts(deps, customerId, [id]);
        if (deleted === 0) throw new ApiError("NOT_FOUND", `There is no contact ${id}.`);
        const data: Deleted = { id, deleted: true };
        return { data };
      },
    }),
  ];
}

async function recordsOf(db: Deps["store"]["db"], contacts: readonly Contact[]): Promise<WireContact[]> {
  const last = await findLastContacts(db, contacts);
  return contacts.map((contact) => contactRecord(contact, last.get(contact.id) ?? null));
}

async function recordOf(deps: Deps, contact: Contact): Promise<WireContact> {
  const [record = contactRecord(contact, null)] = await recordsOf(deps.store.db, [contact]);
  return record;
}
