/** Chats: the one-to-one threads that appear by themselves, and groups; and their record on the wire. */

import type { Channel } from "../../sdk/wire.ts";
import type { ChatId, CustomerId, InstanceId } from "./id.ts";

export interface Chat {
  id: ChatId;
  version: number;
  customerId: CustomerId;
  /** What it is found by, and unique: see `threadKey` and `groupKey`. */
  key: string;
  isGroup: boolean;
  /** The customer's own address in it. */
  from: string;
  /** The other end of a one-to-one thread; null for a group. */
  peer: string | null;
  /** The instance that the chat lives on. */
  instanceId: InstanceId;
  /** The provider's own name of a group; null while the provider has none, and for a one-to-one thread. */
  reference: string | null;
  /** The channel of the chat when it began. */
  channel: Channel;
  name: string | null;
  /** Everybody in it but the customer's own address. */
  participants: string[];
  /** When the customer left the group. */
  leftAt: number | null;
  createdAt: number;
  updatedAt: number;
}

/** Key of the one-to-one thread of a customer's address with another one. */
export function threadKey(customerId: CustomerId, from: string, peer: string): string {
  return `${customerId} ${from} ${peer}`;
}

/** Key of a group: the provider's name of it on the instance, for one customer's address. */
export function groupKey(customerId: CustomerId, from: string, reference: string): string {
  return `${customerId} ${from} group ${reference}`;
}
