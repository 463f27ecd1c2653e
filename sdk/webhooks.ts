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
  Replayed,
  RotateSecret,
  SetWebhook,
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
     * Get the webhook configuration. `data` is null when there is none.
     * @remarks Null if there is none.
     */
    get: (options?: CallOptions) => request<Webhook | null>("GET", "/v1/webhooks", options),
    /**
     * Set the webhook configuration. Makes or changes the one configuration in place.
     * @remarks The response has `secret` only if it was generated now.
     */
    set: (webhook: SetWebhook, options?: CallOptions) =>
      request<Webhook>("PUT", "/v1/webhooks", { ...options, body: webhook }),
    /**
     * Delete an endpoint. Cancels its pending deliveries.
     * @remarks The primary endpoint if no id is given.
     */
    delete: (id?: string, options?: CallOptions) => request<Deleted>("DELETE", either(id), options),
    /**
     * Test an endpoint. Sends it a `webhook.test` event, whatever it subscribes to, and answers the delivery once its
     * first attempt has ended, after 5 s at the latest.
     * @remarks The primary endpoint if no id is given. `delivered` and `responseStatus` say how the attempt ended.
     */
    test: (id?: string, options?: CallOptions) => request<TestedDelivery>("POST", `${either(id)}/test`, options),
    /**
     * Rotate an endpoint's secret. As for the configuration.
     * @remarks The primary endpoint if no id is given.
     */
    rotateSecret: (id?: string, body?: RotateSecret, options?: CallOptions) =>
      request<Webhook>("POST", `${either(id)}/rotate-secret`, { ...options, body }),
    /**
     * Send stored events again. Makes a new delivery of every event of that time, and of these types, to this endpoint.
     */
    replay: (id: string, body: Replay, options?: CallOptions) =>
      request<Replayed>("POST", `${path(id)}/replay`, { ...options, body }),
    endpoints: {
      /** List all endpoints. In one plain list, the configuration first. */
      list: (options?: CallOptions) => request<Webhook[]>("GET", "/v1/webhooks/list", options),
      /**
       * Make a further endpoint. With a secret of its own: the one given, or one that is generated and shown in this
       * answer only.
       */
      create: (webhook: CreateWebhook, options?: CallOptions) =>
        request<Webhook>("POST", "/v1/webhooks", { ...options, body: webhook }),
      /** Get an endpoint. Without its secret. */
      get: (id: string, options?: CallOptions) => request<Webhook>("GET", path(id), options),
      /** Change an endpoint. `active: false` pauses it and cancels what is pending; what it missed can be replayed. */
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
    /**
     * List deliveries. Newest first, each with every attempt: what the receiver answered, or why there was no answer.
     */
    list,
    /** Iterates over every delivery that matches, newest first, and requests page after page. */
    listAll: (query: DeliveryQuery = {}, options?: CallOptions) =>
      pages(list, query, options, (page) => page.deliveries),
    /** Get a delivery. With every attempt, and when the next one is. */
    get: (id: string, options?: CallOptions) => request<Delivery>("GET", path(id), options),
    /** Try a delivery again now. One extra attempt at once; the schedule of the others stays as it is. */
    retry: (id: string, options?: CallOptions) => request<Delivery>("POST", `${path(id)}/retry`, options),
  };
}
