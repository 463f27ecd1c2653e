/** Endpoints of webhooks, and the log of their deliveries. */

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
    /** The configuration; null when there is none. */
    get: (options?: CallOptions) => request<Webhook | null>("GET", "/v1/webhooks", options),
    /** Makes or changes the configuration; the answer has `secret` only when it was generated now. */
    set: (webhook: SetWebhook, options?: CallOptions) =>
      request<Webhook>("PUT", "/v1/webhooks", { ...options, body: webhook }),
    /** Removes one endpoint, the configuration when no id is given. */
    delete: (id?: string, options?: CallOptions) => request<Deleted>("DELETE", either(id), options),
    /**
     * Sends a `webhook.test` event to one endpoint, the configuration when no id is given. The service waits up to 5 s
     * for the first attempt; `delivered` and `responseStatus` say how it ended.
     */
    test: (id?: string, options?: CallOptions) => request<TestedDelivery>("POST", `${either(id)}/test`, options),
    /** Gives one endpoint a new secret, the configuration when no id is given. */
    rotateSecret: (id?: string, body?: RotateSecret, options?: CallOptions) =>
      request<Webhook>("POST", `${either(id)}/rotate-secret`, { ...options, body }),
    /** Sends the stored events of a time to this endpoint again. */
    replay: (id: string, body: Replay, options?: CallOptions) =>
      request<Replayed>("POST", `${path(id)}/replay`, { ...options, body }),
    endpoints: {
      list: (options?: CallOptions) => request<Webhook[]>("GET", "/v1/webhooks/list", options),
      create: (webhook: CreateWebhook, options?: CallOptions) =>
        request<Webhook>("POST", "/v1/webhooks", { ...options, body: webhook }),
      get: (id: string, options?: CallOptions) => request<Webhook>("GET", path(id), options),
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
    list,
    /** Every delivery that matches, newest first, page by page. */
    listAll: (query: DeliveryQuery = {}, options?: CallOptions) =>
      pages(list, query, options, (page) => page.deliveries),
    get: (id: string, options?: CallOptions) => request<Delivery>("GET", path(id), options),
    /** One extra attempt, at once. */
    retry: (id: string, options?: CallOptions) => request<Delivery>("POST", `${path(id)}/retry`, options),
  };
}
