/** Routes of contacts, of what their phones can do, and of opt-outs. */

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
  OptOutSettings,
  SetOptOutSettings,
  UpdateContact,
} from "./wire.ts";

/** Filters of the contact list, which pages by `offset`: `limit` is 1 to 100, by default 50. */
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
    /** List contacts. Lists contacts newest first, in pages of `limit` and `offset`. */
    list,
    /** Iterates over every contact that matches, and requests page after page. */
    listAll: (query: Omit<ContactQuery, "offset"> = {}, options?: CallOptions) => walk(list, query, options),
    /** Get a contact. Includes when a message was last sent to or received from one of its addresses. */
    get: (id: string, options?: CallOptions) => request<Contact>("GET", path(id), options),
    /** Create a contact. A contact needs a phone number or an e-mail address. */
    create: (contact: CreateContact, options?: CallOptions) =>
      request<Contact>("POST", "/v1/contacts", { ...options, body: contact }),
    /** Change a contact. Changes the fields of the body; an absent field stays as it is, null removes the value. */
    update: (id: string, changes: UpdateContact, options?: CallOptions) =>
      request<Contact>("PUT", path(id), { ...options, body: changes }),
    /**
     * Delete a contact. Keeps the conversation, unless `erase=true`: then the texts, files and event bytes of the
     * conversation until now are erased too.
     */
    delete: (id: string, options?: CallOptions) => request<Deleted>("DELETE", path(id), options),
    /**
     * Delete a contact. Keeps the conversation, unless `erase=true`: then the texts, files and event bytes of the
     * conversation until now are erased too.
     * @remarks Also erases the messages with the contact. Call it again for the progress: `erasedAt` is null until all
     * is erased.
     */
    erase: (id: string, options?: CallOptions) =>
      request<DeletedContact>("DELETE", path(id), { ...options, query: { erase: true } }),
    /**
     * Create many contacts. Creates up to 100 contacts.
     * @remarks A bad contact is reported in `errors` and stops no other.
     */
    createMany: (contacts: CreateContact[], options?: CallOptions) =>
      request<CreatedContacts>("POST", "/v1/contacts/bulk", { ...options, body: { contacts } }),
    /** Delete many contacts. Deletes up to 100 contacts. */
    deleteMany: (ids: string[], options?: CallOptions) =>
      request<DeletedContacts>("DELETE", "/v1/contacts/bulk", { ...options, body: { ids } }),
    /**
     * Show whether a contact silences notifications. Known only for contacts with messages in both directions; for all
     * others the status is 404.
     */
    focus: (phone: string, options?: CallOptions) => request<Focus>("GET", `${path(phone)}/focus`, options),
    /**
     * Show whether a contact can be called by FaceTime. Asks the provider, and caches its answer for a while: `cached`
     * says so.
     */
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

/** Filters of the list of opt-outs. */
export interface OptOutQuery extends Page {
  number?: string | undefined;
}

/** Why an opt-out ends. */
export interface OptOutRemoval {
  /** Required if the contact or the provider made it; shown in `contact.opted_in`. */
  reason?: string | undefined;
}

/** The routes under `/v1/opt-outs`. */
export function optOutRoutes(request: Request) {
  const path = (number: string, contact: string) => `/v1/opt-outs/${segment(number)}/${segment(contact)}`;
  const list = (query?: OptOutQuery, options?: CallOptions) =>
    request<OptOutList>("GET", "/v1/opt-outs", { ...options, query });
  return {
    /** List opt-outs. Lists contacts that replied STOP or were added here, newest first. */
    list,
    /** Iterates over all of them, newest first, and requests page after page. */
    listAll: (query: OptOutQuery = {}, options?: CallOptions) => pages(list, query, options, (page) => page.optOuts),
    /** Get an opt-out. The status is 404 if the contact has not opted out. */
    get: (number: string, contact: string, options?: CallOptions) =>
      request<OptOut>("GET", path(number, contact), options),
    /**
     * Opt a contact out. From now on, messages to the contact are refused with `RECIPIENT_OPTED_OUT`: from all numbers
     * of the customer, or from this one, as the settings say.
     */
    add: (number: string, contact: string, options?: CallOptions) =>
      request<OptOut>("PUT", path(number, contact), options),
    /** Remove an opt-out. Do so only if the contact has asked for it. */
    remove: (number: string, contact: string, query: OptOutRemoval = {}, options?: CallOptions) =>
      request<Deleted>("DELETE", path(number, contact), { ...options, query }),
    /**
     * Get the settings of opt-outs. The words that end and begin messages, what they hold for, and what the service
     * answers.
     */
    settings: (options?: CallOptions) => request<OptOutSettings>("GET", "/v1/opt-outs/settings", options),
    /** Set the settings of opt-outs. Changes the fields that are given. */
    changeSettings: (settings: SetOptOutSettings, options?: CallOptions) =>
      request<OptOutSettings>("PUT", "/v1/opt-outs/settings", { ...options, body: settings }),
  };
}
