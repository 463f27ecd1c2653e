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
  Deleted,
  Instance,
  InstanceList,
  Key,
  KeyList,
  QuietHours,
  RotateKey,
  Route,
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
  };
}

function customerRoutes(request: Request) {
  const list = (query?: Page, options?: CallOptions) =>
    request<CustomerList>("GET", "/v1/admin/customers", { ...options, query });
  const routes = (id: string) => `/v1/admin/customers/${segment(id)}/routes`;
  const quiet = (id: string) => `/v1/admin/customers/${segment(id)}/quiet-hours`;
  return {
    /** List customers. Newest first. */
    list,
    /** Iterates over all of them, newest first, and requests page after page. */
    listAll: (query: Page = {}, options?: CallOptions) => pages(list, query, options, (page) => page.customers),
    /** Get a customer. With its numbers. */
    get: (id: string, options?: CallOptions) =>
      request<CustomerWithNumbers>("GET", `/v1/admin/customers/${segment(id)}`, options),
    /** Make a customer. Then give it a number, and a key. */
    create: (customer: CreateCustomer, options?: CallOptions) =>
      request<Customer>("POST", "/v1/admin/customers", { ...options, body: customer }),
    /** Get a customer's routes. Which instances carry its SMS, by what the recipient's number begins with. */
    routes: (id: string, options?: CallOptions) => request<Route[]>("GET", routes(id), options),
    /** Set a customer's routes. In place of all that it had. */
    setRoutes: (id: string, wanted: Route[], options?: CallOptions) =>
      request<Route[]>("PUT", routes(id), { ...options, body: wanted }),
    /**
     * Get a customer's quiet hours. Null where it has none.
     * @remarks Null if the customer has none.
     */
    quietHours: (id: string, options?: CallOptions) => request<QuietHours | null>("GET", quiet(id), options),
    /**
     * Set a customer's quiet hours. From `start` until `end`, which may be on the next day, its messages wait, by the
     * clock of each recipient: that of the country, and in North America of the area code, of the number.
     */
    setQuietHours: (id: string, hours: SetQuietHours, options?: CallOptions) =>
      request<QuietHours>("PUT", quiet(id), { ...options, body: hours }),
    /** Take a customer's quiet hours away. What they hold back goes out at once. */
    deleteQuietHours: (id: string, options?: CallOptions) => request<null>("DELETE", quiet(id), options),
  };
}

function numberRoutes(request: Request) {
  const all = (customerId: string) => `/v1/admin/customers/${segment(customerId)}/numbers`;
  const one = (customerId: string, id: string) => `${all(customerId)}/${segment(id)}`;
  return {
    /** Give a customer a number. Exactly one of `phoneNumber` and `email`. */
    add: (customerId: string, number: AddNumber, options?: CallOptions) =>
      request<CustomerNumber>("POST", all(customerId), { ...options, body: number }),
    /** Take a number away. Messages that wait to be sent from it still go out. */
    remove: (customerId: string, id: string, options?: CallOptions) =>
      request<Deleted>("DELETE", one(customerId, id), options),
    /** Make a number the default. The one that messages without `from` are sent from. */
    makeDefault: (customerId: string, id: string, options?: CallOptions) =>
      request<CustomerNumber>("PUT", `${one(customerId, id)}/default`, options),
  };
}

function keyRoutes(request: Request) {
  const path = (id: string) => `/v1/admin/keys/${segment(id)}`;
  const list = (query?: Page, options?: CallOptions) =>
    request<KeyList>("GET", "/v1/admin/keys", { ...options, query });
  return {
    /** List keys. Newest first, revoked ones too; never the keys themselves. */
    list,
    /** Iterates over all of them, newest first, and requests page after page. */
    listAll: (query: Page = {}, options?: CallOptions) => pages(list, query, options, (page) => page.keys),
    /**
     * Make a key. For a customer, or with the scope `admin` for nobody in particular.
     * @remarks Only this response holds the key itself.
     */
    create: (key: CreateKey, options?: CallOptions) =>
      request<Key>("POST", "/v1/admin/keys", { ...options, body: key }),
    /**
     * Rotate a key. A new key for the same customer, scope and limit; the old one works until the grace ends.
     * @remarks The grace period is a day unless one is given.
     */
    rotate: (id: string, body?: RotateKey, options?: CallOptions) =>
      request<Key>("POST", `${path(id)}/rotate`, { ...options, body }),
    /** Revoke a key. At once: within a second in every process, open event streams included. */
    revoke: (id: string, options?: CallOptions) => request<Key>("DELETE", path(id), options),
  };
}

function instanceRoutes(request: Request) {
  const path = (id: string) => `/v1/admin/instances/${segment(id)}`;
  const list = (query?: Page, options?: CallOptions) =>
    request<InstanceList>("GET", "/v1/admin/instances", { ...options, query });
  return {
    /** List instances. Newest first, with their health. */
    list,
    /** Iterates over all of them, newest first, and requests page after page. */
    listAll: (query: Page = {}, options?: CallOptions) => pages(list, query, options, (page) => page.instances),
    /** Get an instance. With its health, and what an operator should do something about. */
    get: (id: string, options?: CallOptions) => request<Instance>("GET", path(id), options),
    /** Connect a provider. `config` is that of the provider named. */
    create: (instance: CreateInstance, options?: CallOptions) =>
      request<Instance>("POST", "/v1/admin/instances", { ...options, body: instance }),
    /** Change an instance. What `config` names is changed, the rest stays. */
    update: (id: string, changes: UpdateInstance, options?: CallOptions) =>
      request<Instance>("PATCH", path(id), { ...options, body: changes }),
    /** Disconnect a provider. Only when no number is on it, and no route names it. */
    delete: (id: string, options?: CallOptions) => request<Deleted>("DELETE", path(id), options),
  };
}
