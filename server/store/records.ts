/** Records that are the store's own: what was asked before, what providers call things, what they remember. */

/** First use of an idempotency key: what was asked, and what it made. */
export interface Idempotency {
  /** Customer id, or `admin`. */
  scope: string;
  key: string;
  /** SHA-256 of route and canonical body, hexadecimal. */
  fingerprint: string;
  /** JSON that the route itself knows how to answer from: an id, mostly. */
  result: string;
  createdAt: number;
}

/** A provider's reference of a hand-over it took: how receipts find their message. */
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

/** Something that a provider told once, by its own name of it: told again it changes nothing. */
export interface Arrival {
  instanceId: string;
  reference: string;
  createdAt: number;
}

/** One fact about the database itself: the schema of its secrets, the clock's shift. */
export interface SettingEntry {
  name: string;
  value: string;
}
