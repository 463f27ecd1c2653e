/** What the published package offers: the client, its errors and the shapes of the wire. Nothing is written here. */

export {
  type CallOptions,
  type DeliveryQuery,
  type EventQuery,
  type MessageQuery,
  type Page,
  Tightbeam,
  type UsageQuery,
} from "./client.ts";
export { type ClientErrorCode, TightbeamError } from "./errors.ts";
export type { ClientOptions, RequestOptions } from "./request.ts";
export * from "./wire.ts";
