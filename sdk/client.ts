/** The client of the service: its routes as methods, typed by the wire contract. Depends on `fetch` and nothing else. */

import { adminRoutes } from "./admin.ts";
import { chatRoutes } from "./chats.ts";
import { contactRoutes, optOutRoutes } from "./contacts.ts";
import { eventRoutes } from "./events.ts";
import { messageRoutes } from "./messages.ts";
import { type CallOptions, segment } from "./paging.ts";
import { callRoutes, paymentRoutes } from "./payments.ts";
import { type ClientOptions, type Connection, connect, type RequestOptions } from "./request.ts";
import type { ApiPromise } from "./response.ts";
import { sandboxRoutes } from "./sandbox.ts";
import { webhookRoutes } from "./webhooks.ts";
import type { OwnNumber, PhoneCapabilities, Usage } from "./wire.ts";

/** Of what and when to answer usage; only an admin key may name a key or a customer. */
export interface UsageQuery {
  from?: string | undefined;
  to?: string | undefined;
  granularity?: "day" | "hour" | undefined;
  keyId?: string | undefined;
  customerId?: string | undefined;
}

/**
 * A client with one key. Refusals throw `TightbeamError`. 429, 503, 502, 504 and lost connections are retried three
 * times at most: after what `Retry-After` says, else after 10, 20 and 40 s for a 429 and 0.5 to 8 s for the others. No
 * retry does a thing twice. Every method takes `CallOptions` last, and answers `.withResponse()`.
 */
export class Tightbeam {
  readonly #connection: Connection;
  readonly messages: ReturnType<typeof messageRoutes>;
  readonly chats: ReturnType<typeof chatRoutes>;
  readonly contacts: ReturnType<typeof contactRoutes>;
  readonly optOuts: ReturnType<typeof optOutRoutes>;
  readonly payments: ReturnType<typeof paymentRoutes>;
  readonly calls: ReturnType<typeof callRoutes>;
  readonly webhooks: ReturnType<typeof webhookRoutes>;
  readonly events: ReturnType<typeof eventRoutes>;
  readonly admin: ReturnType<typeof adminRoutes>;
  readonly sandbox: ReturnType<typeof sandboxRoutes>;

  /** Throws `TypeError` for a missing key, a key in a browser, or an address that is none. */
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
    this.admin = adminRoutes(request);
    this.sandbox = sandboxRoutes(request);
  }

  /** Any route by hand: answers the envelope's `data`. */
  request<Data>(method: string, path: string, options?: RequestOptions): ApiPromise<Data> {
    return this.#connection.request<Data>(method, path, options);
  }

  /** The numbers of the key's customer. */
  numbers(options?: CallOptions): ApiPromise<OwnNumber[]> {
    return this.request("GET", "/v1/numbers", options);
  }

  /** What a phone number or e-mail can be reached by. */
  capabilities(phone: string, options?: CallOptions): ApiPromise<PhoneCapabilities> {
    return this.request("GET", `/v1/capabilities/${segment(phone)}`, options);
  }

  /** What was used by this key, or, with an admin key, by what the query names. */
  usage(query?: UsageQuery, options?: CallOptions): ApiPromise<Usage> {
    return this.request("GET", "/v1/admin/usage", { ...options, query });
  }
}
