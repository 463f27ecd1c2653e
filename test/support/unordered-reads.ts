/** Reads of the store whose answers have no order, for the comparison of two databases. */

/** Reads whose answers have no order. */
export const UNORDERED: ReadonlySet<string> = new Set([
  "contacts.findContactAddresses",
  "contacts.findContacts",
  "customers.findSigners",
  "deliveries.listDeliveriesAhead",
  "erasures.listErasable",
  "erasures.listOpenErasures",
  "erasures.listThreadIds",
  "events.listEventBytes",
  "message-lists.findMatching",
  "messages.findLanesWithDueTimers",
  "messages.listAwaitingErasure",
  "messages.listInterrupted",
  "opt-outs.listContactsOptedOut",
  "replays.listDeliveriesTo",
  "requests.countRequests",
  "send-attempts.listNoted",
  "webhooks.findEndpoints",
  "wire.findDeliveries",
  "wire.findPendingDeliveries",
  "wire.findWireMessages",
]);
