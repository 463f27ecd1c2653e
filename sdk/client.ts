/** The client of the service: its routes as methods, typed by the wire contract. Depends on `fetch` and nothing else. */

import { type ClientOptions, type Request, type RequestOptions, requester } from "./request.ts";
import type {
  AcceptedMessage,
  AddNumber,
  CreateCustomer,
  CreateKey,
  CreateWebhook,
  Customer,
  CustomerList,
  CustomerNumber,
  CustomerWithNumbers,
  Deleted,
  Delivery,
  DeliveryList,
  DeliveryStatus,
  Direction,
  Event,
  EventList,
  EventType,
  Inbox,
  InboxBehaviour,
  Key,
  KeyList,
  Message,
  MessageList,
  MessageStatus,
  OwnNumber,
  Pagination,
  Replay,
  Replayed,
  RotateKey,
  RotateSecret,
  SendMessage,
  SetWebhook,
  UpdateWebhook,
  Usage,
  Webhook,
} from "./wire.ts";

/** Where in a list to start, and how much of it: `limit` is 1 to 100, 50 when left out. */
export interface Page {
  limit?: number | undefined;
  cursor?: string | undefined;
}

/** Filters of the message list; instants are ISO 8601. */
export interface MessageQuery extends Page {
  status?: MessageStatus | undefined;
  to?: string | undefined;
  from?: string | undefined;
  direction?: Direction | undefined;
  externalMessageId?: string | undefined;
  createdAfter?: string | undefined;
  createdBefore?: string | undefined;
}

/** Filters of the event list; `after` is an event id, and turns the list round: oldest first from there. */
export interface EventQuery extends Page {
  type?: EventType | undefined;
  messageId?: string | undefined;
  after?: string | undefined;
}

/** Filters of the delivery log. */
export interface DeliveryQuery extends Page {
  status?: DeliveryStatus | undefined;
  webhookId?: string | undefined;
  eventId?: string | undefined;
  messageId?: string | undefined;
}

/** Of what and when to answer usage; only an admin key may name a key or a customer. */
export interface UsageQuery {
  from?: string | undefined;
  to?: string | undefined;
  granularity?: "day" | "hour" | undefined;
  keyId?: string | undefined;
  customerId?: string | undefined;
}

/** Per-call settings of a POST: its own key makes it safe to repeat across restarts of the caller too. */
export interface CallOptions {
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * A client with one key. Refusals throw `TightbeamError`. 429, 503 and lost connections are retried three times at most,
 * after what `Retry-After` says or 10, 20, 40 s; no retry ever does a thing twice.
 */
export class Tightbeam {
  readonly #request: Request;
  readonly messages: ReturnType<typeof messageRoutes>;
  readonly webhooks: ReturnType<typeof webhookRoutes>;
  readonly events: ReturnType<typeof eventRoutes>;
  readonly admin: ReturnType<typeof adminRoutes>;
  readonly sandbox: ReturnType<typeof sandboxRoutes>;

  /** Throws `TypeError` for a missing key or an address that is none. */
  constructor(options: ClientOptions) {
    this.#request = requester(options);
    this.messages = messageRoutes(this.#request);
    this.webhooks = webhookRoutes(this.#request);
    this.events = eventRoutes(this.#request);
    this.admin = adminRoutes(this.#request);
    this.sandbox = sandboxRoutes(this.#request);
  }

  /** Any route by hand: answers the envelope's `data`. */
  request<Data>(method: string, path: string, options?: RequestOptions): Promise<Data> {
    return this.#request<Data>(method, path, options);
  }

  /** The numbers of the key's customer. */
  numbers(): Promise<OwnNumber[]> {
    return this.#request("GET", "/v1/numbers");
  }

  /** What was used by this key, or, with an admin key, by what the query names. */
  usage(query?: UsageQuery): Promise<Usage> {
    return this.#request("GET", "/v1/admin/usage", { query });
  }
}

function messageRoutes(request: Request) {
  const path = (id: string) => `/v1/messages/${segment(id)}`;
  const list = (query?: MessageQuery) => request<MessageList>("GET", "/v1/messages", { query });
  return {
    list,
    send: (message: SendMessage, options?: CallOptions) =>
      request<AcceptedMessage>("POST", "/v1/messages", { ...options, body: message }),
    get: (id: string) => request<Message>("GET", path(id)),
    /** Every message that matches, newest first, page by page. */
    listAll: (query: MessageQuery = {}) => pages(list, query, (page) => page.messages),
    scheduled: (query?: Page) => request<MessageList>("GET", "/v1/messages/scheduled", { query }),
    /** Stops one that is still scheduled. */
    cancel: (id: string) => request<Message>("DELETE", `${path(id)}/schedule`),
    /** Sends a failed one again; one whose outcome is unknown only with `mayDuplicate`. */
    retry: (id: string, body?: { mayDuplicate?: boolean }, options?: CallOptions) =>
      request<Message>("POST", `${path(id)}/retry`, { ...options, body }),
    delete: (id: string) => request<Deleted>("DELETE", path(id)),
  };
}

function webhookRoutes(request: Request) {
  const path = (id: string) => `/v1/webhooks/${segment(id)}`;
  const either = (id: string | undefined) => (id === undefined ? "/v1/webhooks" : path(id));
  return {
    /** The configuration; null when there is none. */
    get: () => request<Webhook | null>("GET", "/v1/webhooks"),
    /** Makes or changes the configuration; the answer has `secret` only when it was generated now. */
    set: (webhook: SetWebhook) => request<Webhook>("PUT", "/v1/webhooks", { body: webhook }),
    /** Removes one endpoint, the configuration when no id is given. */
    delete: (id?: string) => request<Deleted>("DELETE", either(id)),
    /** Sends a `webhook.test` event to one endpoint, the configuration when no id is given. */
    test: (id?: string) => request<Delivery>("POST", `${either(id)}/test`),
    /** Gives one endpoint a new secret, the configuration when no id is given. */
    rotateSecret: (id?: string, body?: RotateSecret) =>
      request<Webhook>("POST", `${either(id)}/rotate-secret`, { body }),
    /** Sends the stored events of a time to this endpoint again. */
    replay: (id: string, body: Replay) => request<Replayed>("POST", `${path(id)}/replay`, { body }),
    endpoints: {
      list: () => request<Webhook[]>("GET", "/v1/webhooks/list"),
      create: (webhook: CreateWebhook) => request<Webhook>("POST", "/v1/webhooks", { body: webhook }),
      get: (id: string) => request<Webhook>("GET", path(id)),
      update: (id: string, changes: UpdateWebhook) => request<Webhook>("PATCH", path(id), { body: changes }),
    },
    deliveries: deliveryRoutes(request),
  };
}

function deliveryRoutes(request: Request) {
  const path = (id: string) => `/v1/webhooks/deliveries/${segment(id)}`;
  const list = (query?: DeliveryQuery) => request<DeliveryList>("GET", "/v1/webhooks/deliveries", { query });
  return {
    list,
    /** Every delivery that matches, newest first, page by page. */
    listAll: (query: DeliveryQuery = {}) => pages(list, query, (page) => page.deliveries),
    get: (id: string) => request<Delivery>("GET", path(id)),
    /** One extra attempt, at once. */
    retry: (id: string) => request<Delivery>("POST", `${path(id)}/retry`),
  };
}

function eventRoutes(request: Request) {
  const list = (query?: EventQuery) => request<EventList>("GET", "/v1/events", { query });
  return {
    list,
    /** Every event that matches, page by page. */
    listAll: (query: EventQuery = {}) => pages(list, query, (page) => page.events),
    get: (id: string) => request<Event>("GET", `/v1/events/${segment(id)}`),
  };
}

function adminRoutes(request: Request) {
  return { customers: customerRoutes(request), numbers: numberRoutes(request), keys: keyRoutes(request) };
}

function customerRoutes(request: Request) {
  const list = (query?: Page) => request<CustomerList>("GET", "/v1/admin/customers", { query });
  return {
    list,
    listAll: (query: Page = {}) => pages(list, query, (page) => page.customers),
    get: (id: string) => request<CustomerWithNumbers>("GET", `/v1/admin/customers/${segment(id)}`),
    create: (customer: CreateCustomer, options?: CallOptions) =>
      request<Customer>("POST", "/v1/admin/customers", { ...options, body: customer }),
  };
}

function numberRoutes(request: Request) {
  const all = (customerId: string) => `/v1/admin/customers/${segment(customerId)}/numbers`;
  const one = (customerId: string, id: string) => `${all(customerId)}/${segment(id)}`;
  return {
    add: (customerId: string, number: AddNumber, options?: CallOptions) =>
      request<CustomerNumber>("POST", all(customerId), { ...options, body: number }),
    remove: (customerId: string, id: string) => request<Deleted>("DELETE", one(customerId, id)),
    makeDefault: (customerId: string, id: string) => request<CustomerNumber>("PUT", `${one(customerId, id)}/default`),
  };
}

function keyRoutes(request: Request) {
  const path = (id: string) => `/v1/admin/keys/${segment(id)}`;
  const list = (query?: Page) => request<KeyList>("GET", "/v1/admin/keys", { query });
  return {
    list,
    listAll: (query: Page = {}) => pages(list, query, (page) => page.keys),
    /** The answer is the only one that shows the key itself. */
    create: (key: CreateKey, options?: CallOptions) =>
      request<Key>("POST", "/v1/admin/keys", { ...options, body: key }),
    /** A new key in the place of this one, which works on until the grace period ends (a day when none is given). */
    rotate: (id: string, body?: RotateKey, options?: CallOptions) =>
      request<Key>("POST", `${path(id)}/rotate`, { ...options, body }),
    /** Takes effect at once. */
    revoke: (id: string) => request<Key>("DELETE", path(id)),
  };
}

function sandboxRoutes(request: Request) {
  return {
    inbox: {
      get: () => request<Inbox>("GET", "/v1/sandbox/inbox"),
      clear: () => request<Inbox>("DELETE", "/v1/sandbox/inbox"),
      behave: (behaviour: Partial<InboxBehaviour>) =>
        request<Inbox>("PUT", "/v1/sandbox/inbox/behaviour", { body: behaviour }),
    },
  };
}

/** An id as one segment of a path. Throws `TypeError` for what would make another path of it. */
function segment(id: string): string {
  if (/^\.{0,2}$/.test(id)) throw new TypeError(`${JSON.stringify(id)} is not an id.`);
  return encodeURIComponent(id);
}

/** Walks a list from `query` on to its end, one page at a time, each asked for when the one before is used up. */
async function* pages<Query extends Page, List extends { pagination: Pagination }, Item>(
  list: (query: Query) => Promise<List>,
  query: Query,
  itemsOf: (page: List) => Item[],
): AsyncGenerator<Item, void, undefined> {
  for (let page = await list(query); ; ) {
    yield* itemsOf(page);
    const { hasMore, nextCursor } = page.pagination;
    if (!hasMore || nextCursor === null) return;
    page = await list({ ...query, cursor: nextCursor });
  }
}
