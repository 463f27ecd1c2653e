/** Records of the store itself: idempotency keys, provider references, arrivals, provider memory and settings. */

/** The first use of an idempotency key: its request, and the result. */
export interface Idempotency {
  /** Customer id, or `admin`. */
  scope: string;
  key: string;
  /** SHA-256 of route and canonical body, hexadecimal. */
  fingerprint: string;
  /** Text from which the route builds the response: mostly the id of the created record. */
  result: string;
  createdAt: number;
}

/** A provider's reference of a message, sent or received: receipts, reactions and repeats find the message by it. */
export interface ProviderReference {
  instanceId: string;
  reference: string;
  messageId: string;
  channel: string;
  createdAt: number;
}

/** One entry of a provider instance's memory. */
export interface MemoryEntry {
  instanceId: string;
  key: string;
  value: string;
}

/** The reference of a signal that was applied: a repeat of the signal changes nothing. */
export interface Arrival {
  instanceId: string;
  reference: string;
  createdAt: number;
}

/** One fact about the database itself, such as the shift of the sandbox's clock. */
export interface SettingEntry {
  name: string;
  value: string;
}
