/** What an administrator's key can do: customers, their numbers and keys, provider instances. */

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
    list,
    listAll: (query: Page = {}, options?: CallOptions) => pages(list, query, options, (page) => page.customers),
    get: (id: string, options?: CallOptions) =>
      request<CustomerWithNumbers>("GET", `/v1/admin/customers/${segment(id)}`, options),
    create: (customer: CreateCustomer, options?: CallOptions) =>
      request<Customer>("POST", "/v1/admin/customers", { ...options, body: customer }),
    /** Which instances carry its SMS, by what the recipient's number begins with. */
    routes: (id: string, options?: CallOptions) => request<Route[]>("GET", routes(id), options),
    /** In place of all that it had. */
    setRoutes: (id: string, wanted: Route[], options?: CallOptions) =>
      request<Route[]>("PUT", routes(id), { ...options, body: wanted }),
    /** Null where it has none. */
    quietHours: (id: string, options?: CallOptions) => request<QuietHours | null>("GET", quiet(id), options),
    setQuietHours: (id: string, hours: SetQuietHours, options?: CallOptions) =>
      request<QuietHours>("PUT", quiet(id), { ...options, body: hours }),
    /** What they hold back goes out at once. */
    deleteQuietHours: (id: string, options?: CallOptions) => request<null>("DELETE", quiet(id), options),
  };
}

function numberRoutes(request: Request) {
  const all = (customerId: string) => `/v1/admin/customers/${segment(customerId)}/numbers`;
  const one = (customerId: string, id: string) => `${all(customerId)}/${segment(id)}`;
  return {
    add: (customerId: string, number: AddNumber, options?: CallOptions) =>
      request<CustomerNumber>("POST", all(customerId), { ...options, body: number }),
    remove: (customerId: string, id: string, options?: CallOptions) =>
      request<Deleted>("DELETE", one(customerId, id), options),
    makeDefault: (customerId: string, id: string, options?: CallOptions) =>
      request<CustomerNumber>("PUT", `${one(customerId, id)}/default`, options),
  };
}

function keyRoutes(request: Request) {
  const path = (id: string) => `/v1/admin/keys/${segment(id)}`;
  const list = (query?: Page, options?: CallOptions) =>
    request<KeyList>("GET", "/v1/admin/keys", { ...options, query });
  return {
    list,
    listAll: (query: Page = {}, options?: CallOptions) => pages(list, query, options, (page) => page.keys),
    /** The answer is the only one that shows the key itself. */
    create: (key: CreateKey, options?: CallOptions) =>
      request<Key>("POST", "/v1/admin/keys", { ...options, body: key }),
    /** A new key in the place of this one, which works on until the grace period ends (a day when none is given). */
    rotate: (id: string, body?: RotateKey, options?: CallOptions) =>
      request<Key>("POST", `${path(id)}/rotate`, { ...options, body }),
    /** Takes effect at once. */
    revoke: (id: string, options?: CallOptions) => request<Key>("DELETE", path(id), options),
  };
}

function instanceRoutes(request: Request) {
  const path = (id: string) => `/v1/admin/instances/${segment(id)}`;
  const list = (query?: Page, options?: CallOptions) =>
    request<InstanceList>("GET", "/v1/admin/instances", { ...options, query });
  return {
    list,
    listAll: (query: Page = {}, options?: CallOptions) => pages(list, query, options, (page) => page.instances),
    get: (id: string, options?: CallOptions) => request<Instance>("GET", path(id), options),
    create: (instance: CreateInstance, options?: CallOptions) =>
      request<Instance>("POST", "/v1/admin/instances", { ...options, body: instance }),
    /** Changes what is named, and reconnects with it. */
    update: (id: string, changes: UpdateInstance, options?: CallOptions) =>
      request<Instance>("PATCH", path(id), { ...options, body: changes }),
    delete: (id: string, options?: CallOptions) => request<Deleted>("DELETE", path(id), options),
  };
}
