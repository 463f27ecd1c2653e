/** Contacts, what is known of their phones, and who does not want to hear from a number. */

import { type CallOptions, type Page, pages, segment } from "./paging.ts";
import type { Request } from "./request.ts";
import type {
  Contact,
  ContactList,
  CreateContact,
  CreatedContacts,
  Deleted,
  DeletedContacts,
  FacetimeAvailability,
  Focus,
  OptOut,
  OptOutList,
  UpdateContact,
} from "./wire.ts";

/** Filters of the contact list, which pages by number: `limit` 1 to 100, 50 when left out. */
export interface ContactQuery {
  search?: string | undefined;
  tag?: string | undefined;
  limit?: number | undefined;
  offset?: number | undefined;
}

/** The routes under `/v1/contacts`. */
export function contactRoutes(request: Request) {
  const path = (id: string) => `/v1/contacts/${segment(id)}`;
  const list = (query?: ContactQuery) => request<ContactList>("GET", "/v1/contacts", { query });
  return {
    list,
    /** Every contact that matches, page by page. */
    listAll: (query: Omit<ContactQuery, "offset"> = {}) => walk(list, query),
    get: (id: string) => request<Contact>("GET", path(id)),
    create: (contact: CreateContact, options?: CallOptions) =>
      request<Contact>("POST", "/v1/contacts", { ...options, body: contact }),
    /** Changes what is named; null takes a value away. */
    update: (id: string, changes: UpdateContact) => request<Contact>("PUT", path(id), { body: changes }),
    delete: (id: string) => request<Deleted>("DELETE", path(id)),
    /** Up to 100 at once, each by itself: a bad one is told of and stops no other. */
    createMany: (contacts: CreateContact[], options?: CallOptions) =>
      request<CreatedContacts>("POST", "/v1/contacts/bulk", { ...options, body: { contacts } }),
    deleteMany: (ids: string[]) => request<DeletedContacts>("DELETE", "/v1/contacts/bulk", { body: { ids } }),
    /** Whether a person has notifications silenced; only of people one has written with both ways. */
    focus: (phone: string) => request<Focus>("GET", `${path(phone)}/focus`),
    facetime: (phone: string) => request<FacetimeAvailability>("GET", `${path(phone)}/facetime`),
  };
}

async function* walk(
  list: (query: ContactQuery) => Promise<ContactList>,
  query: ContactQuery,
): AsyncGenerator<Contact, void, undefined> {
  for (let offset = 0; ; ) {
    const { contacts, pagination } = await list({ ...query, offset });
    yield* contacts;
    if (!pagination.hasMore || contacts.length === 0) return;
    offset += contacts.length;
  }
}

/** Filters of the list of those who opted out. */
export interface OptOutQuery extends Page {
  number?: string | undefined;
}

/** The routes under `/v1/opt-outs`: who answered STOP, or was put there. */
export function optOutRoutes(request: Request) {
  const path = (number: string, contact: string) => `/v1/opt-outs/${segment(number)}/${segment(contact)}`;
  const list = (query?: OptOutQuery) => request<OptOutList>("GET", "/v1/opt-outs", { query });
  return {
    list,
    listAll: (query: OptOutQuery = {}) => pages(list, query, (page) => page.optOuts),
    get: (number: string, contact: string) => request<OptOut>("GET", path(number, contact)),
    add: (number: string, contact: string) => request<OptOut>("PUT", path(number, contact)),
    remove: (number: string, contact: string) => request<Deleted>("DELETE", path(number, contact)),
  };
}
