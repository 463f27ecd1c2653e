/** Routes of webhook endpoints, and of the log of their deliveries. */

import { type CallOptions, type Page, pages, segment } from "./paging.ts";
import type { Request } from "./request.ts";
import type {
  CreateWebhook,
  Deleted,
  Delivery,
  DeliveryList,
  DeliveryStatus,
  Replay,
  ReplayEvents,
  RotateSecret,
  SetWebhook,
  SigningSecret,
  StartedReplay,
  TestedDelivery,
  UpdateWebhook,
  Webhook,
} from "./wire.ts";

/** Filters of the delivery log. */
export interface DeliveryQuery extends Page {
  status?: DeliveryStatus | undefined;
  webhookId?: string | undefined;
  eventId?: string | undefined;
  messageId?: string | undefined;
}

/** The routes under `/v1/webhooks`. */
export function webhookRoutes(request: Request) {
  const path = (id: string) => `/v1/webhooks/${segment(id)}`;
  const either = (id: string | undefined) => (id === undefined ? "/v1/webhooks" : path(id));
  return {
    /**
     * Get your primary webhook endpoint. `data` is null if there is none.
     * @remarks Null if there is none.
     */
    get: (options?: CallOptions) => request<Webhook | null>("GET", "/v1/webhooks", options),
    /**
     * Set your primary webhook endpoint. Creates or changes the primary endpoint.
     * @remarks The response has `secret` only if it was generated now.
     */
    set: (webhook: SetWebhook, options?: CallOptions) =>
      request<Webhook>("PUT", "/v1/webhooks", { ...options, body: webhook }),
    /**
     * Delete a webhook endpoint. Cancels its pending deliveries.
     * @remarks The primary endpoint if no id is given.
     */
    delete: (id?: string, options?: CallOptions) => request<Deleted>("DELETE", either(id), options),
    /**
     * Test a webhook endpoint. Sends a `webhook.test` event, whatever the endpoint subscribes to, and returns the
     * delivery after its first attempt, or after 5 s.
     * @remarks The primary endpoint if no id is given. `delivered` and `responseStatus` say how the attempt ended.
     */
    test: (id?: string, options?: CallOptions) => request<TestedDelivery>("POST", `${either(id)}/test`, options),
    /**
     * Rotate the secret of a webhook endpoint. Works like the rotation of the customer's signing secret, for this
     * endpoint.
     * @remarks The customer's signing secret if no id is given: the fields of the endpoint are null if there is no
     * primary endpoint.
     */
    rotateSecret: (id?: string, body?: RotateSecret, options?: CallOptions) =>
      request<Webhook | SigningSecret>("POST", `${either(id)}/rotate-secret`, { ...options, body }),
    /**
     * Replay stored events. Begins a replay: every event of the period and types is sent to this endpoint again, as a
     * new delivery.
     */
    replay: (id: string, body: ReplayEvents, options?: CallOptions) =>
      request<StartedReplay>("POST", `${path(id)}/replay`, { ...options, body }),
    /** Get the last replay. The last replay of this endpoint, with its progress. */
    getReplay: (id: string, options?: CallOptions) => request<Replay | null>("GET", `${path(id)}/replay`, options),
    /** Stop the replay. Stops the replay that runs, and cancels those of its deliveries that were not tried yet. */
    stopReplay: (id: string, options?: CallOptions) => request<Replay>("DELETE", `${path(id)}/replay`, options),
    endpoints: {
      /** List webhook endpoints. Returns all endpoints in one plain list, the primary one first. */
      list: (options?: CallOptions) => request<Webhook[]>("GET", "/v1/webhooks/list", options),
      /**
       * Create a webhook endpoint. Creates a further endpoint with a signing secret of its own: the given one, or a
       * generated one that is returned once, in this response.
       */
      create: (webhook: CreateWebhook, options?: CallOptions) =>
        request<Webhook>("POST", "/v1/webhooks", { ...options, body: webhook }),
      /** Get a webhook endpoint. Returns the endpoint without its secret. */
      get: (id: string, options?: CallOptions) => request<Webhook>("GET", path(id), options),
      /**
       * Change a webhook endpoint. `active: false` pauses the endpoint and cancels its pending deliveries; missed
       * events can be replayed.
       */
      update: (id: string, changes: UpdateWebhook, options?: CallOptions) =>
        request<Webhook>("PATCH", path(id), { ...options, body: changes }),
    },
    deliveries: deliveryRoutes(request),
  };
}

function deliveryRoutes(request: Request) {
  const path = (id: string) => `/v1/webhooks/deliveries/${segment(id)}`;
  const list = (query?: DeliveryQuery, options?: CallOptions) =>
    request<DeliveryList>("GET", "/v1/webhooks/deliveries", { ...options, query });
  return {
    /** List deliveries. Lists deliveries newest first, each with the receiver's response to every attempt. */
    list,
    /** Iterates over every delivery that matches, newest first, and requests page after page. */
    listAll: (query: DeliveryQuery = {}, options?: CallOptions) =>
      pages(list, query, options, (page) => page.deliveries),
    /** Get a delivery. Includes every attempt, and when the next one is due. */
    get: (id: string, options?: CallOptions) => request<Delivery>("GET", path(id), options),
    /** Retry a delivery now. Makes one extra attempt at once; the schedule of the others stays. */
    retry: (id: string, options?: CallOptions) => request<Delivery>("POST", `${path(id)}/retry`, options),
  };
}
