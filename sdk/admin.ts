/** Routes of the admin key: customers, their numbers, routes, quiet hours and keys, and provider instances. */

import { type CallOptions, type Page, pages, segment } from "./paging.ts";
import type { Request } from "./request.ts";
import type {
  AddNumber,
  CreateCustomer,
  CreateInstance,
  CreateKey,
  Customer,
  CustomerList,
  CustomerNumber,
  CustomerWithNumbers,
  DecideHeld,
  Deleted,
  HeldDecision,
  HeldMessageList,
  Instance,
  InstanceList,
  Key,
  KeyList,
  QuietHours,
  RotateKey,
  Route,
  ServiceDetails,
  SessionList,
  SetQuietHours,
  UpdateInstance,
} from "./wire.ts";

/** The routes under `/v1/admin`. */
export function adminRoutes(request: Request) {
  return {
    customers: customerRoutes(request),
    numbers: numberRoutes(request),
    keys: keyRoutes(request),
    instances: instanceRoutes(request),
    held: heldRoutes(request),
    sessions: sessionRoutes(request),
    /**
     * Get the service's settings, health and size. Tells each setting with its source, and of secrets only whether they
     * are given.
     */
    service: (options?: CallOptions) => request<ServiceDetails>("GET", "/v1/admin/service", options),
  };
}

function customerRoutes(request: Request) {
  const list = (query?: Page, options?: CallOptions) =>
    request<CustomerList>("GET", "/v1/admin/customers", { ...options, query });
  const routes = (id: string) => `/v1/admin/customers/${segment(id)}/routes`;
  const quiet = (id: string) => `/v1/admin/customers/${segment(id)}/quiet-hours`;
  return {
    /** List customers. Lists customers, newest first. */
    list,
    /** Iterates over all of them, newest first, and requests page after page. */
    listAll: (query: Page = {}, options?: CallOptions) => pages(list, query, options, (page) => page.customers),
    /** Get a customer. Includes the customer's numbers. */
    get: (id: string, options?: CallOptions) =>
      request<CustomerWithNumbers>("GET", `/v1/admin/customers/${segment(id)}`, options),
    /** Create a customer. Then add a number, and create a key. */
    create: (customer: CreateCustomer, options?: CallOptions) =>
      request<Customer>("POST", "/v1/admin/customers", { ...options, body: customer }),
    /** Get a customer's SMS routes. Returns the instances that carry the customer's SMS, by recipient prefix. */
    routes: (id: string, options?: CallOptions) => request<Route[]>("GET", routes(id), options),
    /** Route a customer's SMS by recipient prefix. Replaces all routes of the customer. */
    setRoutes: (id: string, wanted: Route[], options?: CallOptions) =>
      request<Route[]>("PUT", routes(id), { ...options, body: wanted }),
    /**
     * Get a customer's quiet hours. `data` is null if the customer has none.
     * @remarks Null if the customer has none.
     */
    quietHours: (id: string, options?: CallOptions) => request<QuietHours | null>("GET", quiet(id), options),
    /**
     * Set a customer's quiet hours. Holds the customer's messages from `start` until `end`, which may be on the next
     * day, by the clock of each recipient: that of the country of the number, in North America of its area code.
     */
    setQuietHours: (id: string, hours: SetQuietHours, options?: CallOptions) =>
      request<QuietHours>("PUT", quiet(id), { ...options, body: hours }),
    /** Remove a customer's quiet hours. Messages that the quiet hours hold are sent at once. */
    deleteQuietHours: (id: string, options?: CallOptions) => request<null>("DELETE", quiet(id), options),
  };
}

function numberRoutes(request: Request) {
  const all = (customerId: string) => `/v1/admin/customers/${segment(customerId)}/numbers`;
  const one = (customerId: string, id: string) => `${all(customerId)}/${segment(id)}`;
  return {
    /** Add a number to a customer. Give exactly one of `phoneNumber` and `email`. */
    add: (customerId: string, number: AddNumber, options?: CallOptions) =>
      request<CustomerNumber>("POST", all(customerId), { ...options, body: number }),
    /** Remove a number from a customer. Messages that wait to be sent from the number are still sent. */
    remove: (customerId: string, id: string, options?: CallOptions) =>
      request<Deleted>("DELETE", one(customerId, id), options),
    /** Make a number the default. Messages without `from` are sent from the default number. */
    makeDefault: (customerId: string, id: string, options?: CallOptions) =>
      request<CustomerNumber>("PUT", `${one(customerId, id)}/default`, options),
  };
}

function keyRoutes(request: Request) {
  const path = (id: string) => `/v1/admin/keys/${segment(id)}`;
  const list = (query?: Page, options?: CallOptions) =>
    request<KeyList>("GET", "/v1/admin/keys", { ...options, query });
  return {
    /** List keys. Lists keys newest first, revoked keys too, without the keys themselves. */
    list,
    /** Iterates over all of them, newest first, and requests page after page. */
    listAll: (query: Page = {}, options?: CallOptions) => pages(list, query, options, (page) => page.keys),
    /**
     * Create a key. Creates a key for a customer, or with the scope `admin` an admin key.
     * @remarks Only this response holds the key itself.
     */
    create: (key: CreateKey, options?: CallOptions) =>
      request<Key>("POST", "/v1/admin/keys", { ...options, body: key }),
    /**
     * Rotate a key. Creates a key for the same customer, scope and rate limit; the old key works until the grace period
     * ends.
     * @remarks The grace period is a day unless one is given.
     */
    rotate: (id: string, body?: RotateKey, options?: CallOptions) =>
      request<Key>("POST", `${path(id)}/rotate`, { ...options, body }),
    /** Revoke a key. Takes effect within a second in every process, and closes the key's event streams. */
    revoke: (id: string, options?: CallOptions) => request<Key>("DELETE", path(id), options),
  };
}

function instanceRoutes(request: Request) {
  const path = (id: string) => `/v1/admin/instances/${segment(id)}`;
  const list = (query?: Page, options?: CallOptions) =>
    request<InstanceList>("GET", "/v1/admin/instances", { ...options, query });
  return {
    /** List provider instances. Lists instances newest first, with their health. */
    list,
    /** Iterates over all of them, newest first, and requests page after page. */
    listAll: (query: Page = {}, options?: CallOptions) => pages(list, query, options, (page) => page.instances),
    /** Get a provider instance. Includes its health, and problems for the operator to fix. */
    get: (id: string, options?: CallOptions) => request<Instance>("GET", path(id), options),
    /** Create a provider instance. Connects a provider. */
    create: (instance: CreateInstance, options?: CallOptions) =>
      request<Instance>("POST", "/v1/admin/instances", { ...options, body: instance }),
    /**
     * Change a provider instance. Changes what `config` names and keeps the rest, then reconnects with the new values.
     */
    update: (id: string, changes: UpdateInstance, options?: CallOptions) =>
      request<Instance>("PATCH", path(id), { ...options, body: changes }),
    /** Delete a provider instance. Possible if no number is on the instance and no route names it. */
    delete: (id: string, options?: CallOptions) => request<Deleted>("DELETE", path(id), options),
  };
}

function heldRoutes(request: Request) {
  const list = (query?: Page, options?: CallOptions) =>
    request<HeldMessageList>("GET", "/v1/admin/held", { ...options, query });
  return {
    /** List held messages. Lists held messages newest first, without their content. */
    list,
    /** Iterates over all of them, newest first, and requests page after page. */
    listAll: (query: Page = {}, options?: CallOptions) => pages(list, query, options, (page) => page.messages),
    /** Send held messages again. Queues held messages. */
    release: (decision: DecideHeld, options?: CallOptions) =>
      request<HeldDecision>("POST", "/v1/admin/held/release", { ...options, body: decision }),
    /** End held messages. Ends held messages as `failed` with `OUTCOME_UNKNOWN` and `mayHaveBeenSent: true`. */
    discard: (decision: DecideHeld, options?: CallOptions) =>
      request<HeldDecision>("POST", "/v1/admin/held/discard", { ...options, body: decision }),
  };
}

function sessionRoutes(request: Request) {
  const list = (query?: Page, options?: CallOptions) =>
    request<SessionList>("GET", "/v1/admin/sessions", { ...options, query });
  return {
    /** List sessions. Lists the sessions that have not ended, newest first. */
    list,
    /** Iterates over all of them, newest first, and requests page after page. */
    listAll: (query: Page = {}, options?: CallOptions) => pages(list, query, options, (page) => page.sessions),
    /** End a session. The browser is signed out with its next request, and its streams close. */
    end: (id: string, options?: CallOptions) =>
      request<Deleted>("DELETE", `/v1/admin/sessions/${segment(id)}`, options),
  };
}
