/** The client of the service: its routes as methods, typed by the wire contract. Needs only `fetch`. */

import { adminRoutes } from "./admin.ts";
import { chatRoutes } from "./chats.ts";
import { contactRoutes, optOutRoutes } from "./contacts.ts";
import { eventRoutes } from "./events.ts";
import { messageRoutes } from "./messages.ts";
import { type CallOptions, segment } from "./paging.ts";
import { callRoutes, paymentRoutes } from "./payments.ts";
import { type ClientOptions, type Connection, connect, type RequestOptions } from "./request.ts";
import { requestRoutes, wireRoutes } from "./requests.ts";
import type { ApiPromise } from "./response.ts";
import { sandboxRoutes } from "./sandbox.ts";
import { webhookRoutes } from "./webhooks.ts";
import type { OwnNumber, PhoneCapabilities, Usage } from "./wire.ts";

/** Filters of usage; only an admin key may name a key or a customer. */
export interface UsageQuery {
  from?: string | undefined;
  to?: string | undefined;
  granularity?: "day" | "hour" | undefined;
  keyId?: string | undefined;
  customerId?: string | undefined;
}

/**
 * A client with one key. Refused requests throw `TightbeamError`. The client retries 429, 502, 503, 504 and lost
 * connections at most three times: after the time in `Retry-After`, else after 10, 20 and 40 s for a 429 and 0.5 to 8 s
 * for the others. No retry does a thing twice. Every method takes `CallOptions` as its last argument, and its promise
 * has `.withResponse()`.
 */
export class Tightbeam {
  readonly #connection: Connection;
  /** Messages: send, list, change, cancel, unsend and react. */
  readonly messages: ReturnType<typeof messageRoutes>;
  /** Conversations and groups. */
  readonly chats: ReturnType<typeof chatRoutes>;
  /** Contacts. */
  readonly contacts: ReturnType<typeof contactRoutes>;
  /** Contacts that opted out of messages from a number. */
  readonly optOuts: ReturnType<typeof optOutRoutes>;
  /** Payment requests. */
  readonly payments: ReturnType<typeof paymentRoutes>;
  /** FaceTime calls that were detected. */
  readonly calls: ReturnType<typeof callRoutes>;
  /** Webhook endpoints and the log of their deliveries. */
  readonly webhooks: ReturnType<typeof webhookRoutes>;
  /** Events: the list, and the live stream. */
  readonly events: ReturnType<typeof eventRoutes>;
  /** The log of requests. */
  readonly requests: ReturnType<typeof requestRoutes>;
  /** Requests, events and deliveries in one live stream. */
  readonly wire: ReturnType<typeof wireRoutes>;
  /** Customers, numbers, keys and instances; needs an admin key. */
  readonly admin: ReturnType<typeof adminRoutes>;
  /** The sandbox's inbox, phones and clock. */
  readonly sandbox: ReturnType<typeof sandboxRoutes>;

  /** Throws `TypeError` for a missing key, a key in a browser, or an invalid address. */
  constructor(options: ClientOptions = {}) {
    this.#connection = connect(options);
    const { request } = this.#connection;
    this.messages = messageRoutes(request);
    this.chats = chatRoutes(request);
    this.contacts = contactRoutes(request);
    this.optOuts = optOutRoutes(request);
    this.payments = paymentRoutes(request);
    this.calls = callRoutes(request);
    this.webhooks = webhookRoutes(request);
    this.events = eventRoutes(this.#connection);
    this.requests = requestRoutes(this.#connection);
    this.wire = wireRoutes(this.#connection);
    this.admin = adminRoutes(request);
    this.sandbox = sandboxRoutes(request);
  }

  /** Calls any route, and returns the envelope's `data`. */
  request<Data>(method: string, path: string, options?: RequestOptions): ApiPromise<Data> {
    return this.#connection.request<Data>(method, path, options);
  }

  /** List your numbers. Returns all numbers in one plain list, the default number first, with their health. */
  numbers(options?: CallOptions): ApiPromise<OwnNumber[]> {
    return this.request("GET", "/v1/numbers", options);
  }

  /**
   * Show which channels reach an address. Asks the provider, and caches its answer for a while: `cached` says so, and
   * `lastChecked` when it was asked.
   */
  capabilities(phone: string, options?: CallOptions): ApiPromise<PhoneCapabilities> {
    return this.request("GET", `/v1/capabilities/${segment(phone)}`, options);
  }

  /** Get usage. A customer's key gets its own usage. */
  usage(query?: UsageQuery, options?: CallOptions): ApiPromise<Usage> {
    return this.request("GET", "/v1/admin/usage", { ...options, query });
  }
}
