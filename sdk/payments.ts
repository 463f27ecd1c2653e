/** Routes of payment requests and of detected FaceTime calls. */

import { type CallOptions, type Page, pages, segment } from "./paging.ts";
import type { Request } from "./request.ts";
import type {
  Call,
  CallList,
  CallStatus,
  PaymentRequest,
  PaymentRequestList,
  PaymentStatus,
  RequestPayment,
} from "./wire.ts";

/** Filters of the list of payment requests: `from` and `to` are ISO dates. */
export interface PaymentQuery extends Page {
  status?: PaymentStatus | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

/** The routes under `/v1/payments`. */
export function paymentRoutes(request: Request) {
  const path = (id: string) => `/v1/payments/requests/${segment(id)}`;
  const list = (query?: PaymentQuery, options?: CallOptions) =>
    request<PaymentRequestList>("GET", "/v1/payments/requests", { ...options, query });
  return {
    /** List payment requests. Lists payment requests newest first. */
    list,
    /** Iterates over every request that matches, newest first, and requests page after page. */
    listAll: (query: PaymentQuery = {}, options?: CallOptions) => pages(list, query, options, (page) => page.requests),
    /** Get a payment request. Includes the message that paid it, and the kind of proof. */
    get: (id: string, options?: CallOptions) => request<PaymentRequest>("GET", path(id), options),
    /** Request a payment. Sends the request as a message. */
    request: (payment: RequestPayment, options?: CallOptions) =>
      request<PaymentRequest>("POST", "/v1/payments/request", { ...options, body: payment }),
    /** Cancel a payment request. Possible while the request is pending. */
    cancel: (id: string, options?: CallOptions) => request<PaymentRequest>("POST", `${path(id)}/cancel`, options),
  };
}

/** Filters of the list of calls. */
export interface CallQuery extends Page {
  status?: CallStatus | undefined;
}

/** The routes under `/v1/facetime`. */
export function callRoutes(request: Request) {
  const list = (query?: CallQuery, options?: CallOptions) =>
    request<CallList>("GET", "/v1/facetime/calls", { ...options, query });
  return {
    /** List calls. Lists calls, newest first. */
    list,
    /** Iterates over every call that matches, newest first, and requests page after page. */
    listAll: (query: CallQuery = {}, options?: CallOptions) => pages(list, query, options, (page) => page.calls),
    /** Get a call. Includes every status that the call has had, and when. */
    get: (id: string, options?: CallOptions) => request<Call>("GET", `/v1/facetime/calls/${segment(id)}`, options),
  };
}
