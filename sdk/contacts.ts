/** Contacts, what is known of their phones, and who does not want to hear from a number. */

import { type CallOptions, type Page, pages, segment } from "./paging.ts";
import type { Request } from "./request.ts";
import type {
  Contact,
  ContactList,
  CreateContact,
  CreatedContacts,
  Deleted,
  DeletedContact,
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
  const list = (query?: ContactQuery, options?: CallOptions) =>
    request<ContactList>("GET", "/v1/contacts", { ...options, query });
  return {
    list,
    /** Every contact that matches, page by page. */
    listAll: (query: Omit<ContactQuery, "offset"> = {}, options?: CallOptions) => walk(list, query, options),
    get: (id: string, options?: CallOptions) => request<Contact>("GET", path(id), options),
    create: (contact: CreateContact, options?: CallOptions) =>
      request<Contact>("POST", "/v1/contacts", { ...options, body: contact }),
    /** Changes what is named; null takes a value away. */
    update: (id: string, changes: UpdateContact, options?: CallOptions) =>
      request<Contact>("PUT", path(id), { ...options, body: changes }),
    delete: (id: string, options?: CallOptions) => request<Deleted>("DELETE", path(id), options),
    /** Deletes it and erases what was written with it. Asked again, it tells how far that is: `erasedAt` is null until the end. */
    erase: (id: string, options?: CallOptions) =>
      request<DeletedContact>("DELETE", path(id), { ...options, query: { erase: true } }),
    /** Up to 100 at once, each by itself: a bad one is told of and stops no other. */
    createMany: (contacts: CreateContact[], options?: CallOptions) =>
      request<CreatedContacts>("POST", "/v1/contacts/bulk", { ...options, body: { contacts } }),
    deleteMany: (ids: string[], options?: CallOptions) =>
      request<DeletedContacts>("DELETE", "/v1/contacts/bulk", { ...options, body: { ids } }),
    /** Whether a person has notifications silenced; only of people one has written with both ways. */
    focus: (phone: string, options?: CallOptions) => request<Focus>("GET", `${path(phone)}/focus`, options),
    facetime: (phone: string, options?: CallOptions) =>
      request<FacetimeAvailability>("GET", `${path(phone)}/facetime`, options),
  };
}

async function* walk(
  list: (query: ContactQuery, options?: CallOptions) => Promise<ContactList>,
  query: ContactQuery,
  options: CallOptions | undefined,
): AsyncGenerator<Contact, void, undefined> {
  for (let offset = 0; ; ) {
    const { contacts, pagination } = await list({ ...query, offset }, options);
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
  const list = (query?: OptOutQuery, options?: CallOptions) =>
    request<OptOutList>("GET", "/v1/opt-outs", { ...options, query });
  return {
    list,
    listAll: (query: OptOutQuery = {}, options?: CallOptions) => pages(list, query, options, (page) => page.optOuts),
    get: (number: string, contact: string, options?: CallOptions) =>
      request<OptOut>("GET", path(number, contact), options),
    add: (number: string, contact: string, options?: CallOptions) =>
      request<OptOut>("PUT", path(number, contact), options),
    remove: (number: string, contact: string, options?: CallOptions) =>
      request<Deleted>("DELETE", path(number, contact), options),
  };
}
