/** The public face of the package: the client, its errors, receivers of webhooks, signatures and the shapes of the wire. Only re-exports. */

export { Tightbeam, type UsageQuery } from "./client.ts";
export type { ContactQuery, OptOutQuery, OptOutRemoval } from "./contacts.ts";
export { type ClientErrorCode, TightbeamError } from "./errors.ts";
export type { EventPage, EventQuery, StreamQuery } from "./events.ts";
export type { MessageQuery } from "./messages.ts";
export type { CallOptions, Page } from "./paging.ts";
export type { CallQuery, PaymentQuery } from "./payments.ts";
export { playSteps, type RecordedStep, type RunStep } from "./play-steps.ts";
export type { ClientOptions, Logger, RequestOptions } from "./request.ts";
export type { RequestQuery, WireItem, WireStreamQuery } from "./requests.ts";
export type { ApiPromise, RateLimitStatus, WithResponse } from "./response.ts";
export type { WaitQuery } from "./sandbox.ts";
export * from "./webhook.ts";
export type { DeliveryQuery } from "./webhooks.ts";
export * from "./wire.ts";
