/** Endpoints of webhooks, and the log of their deliveries. */

import { type Page, pages, segment } from "./paging.ts";
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
