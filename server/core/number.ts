/** Numbers: the addresses that a customer sends from, each on one provider instance. */

import type { Channel, HealthStatus, OwnNumber, ProviderName, CustomerNumber as WireNumber } from "../../sdk/wire.ts";
import type { CustomerId, InstanceId, NumberId } from "./id.ts";
import { iso } from "./instant.ts";

export interface CustomerNumber {
  id: NumberId;
  customerId: CustomerId;
  /** E.164 or an iMessage e-mail; belongs to one customer at a time. */
  address: string;
  provider: ProviderName;
  instanceId: InstanceId;
  isDefault: boolean;
  createdAt: number;
}

/** Channels that messages from `address` can take: an e-mail address has no SMS. */
export function channelsOf(address: string, offered: readonly Channel[]): Channel[] {
  return offered.filter((channel) => channel === "imessage" || !isEmail(address));
}

/** The record of admin routes, with every channel that the number has to any recipient. */
export function numberRecord(number: CustomerNumber, channels: readonly Channel[]): WireNumber {
  return {
    id: number.id,
    ...phoneOrEmail(number.address),
    provider: number.provider,
    instanceId: number.instanceId,
    capabilities: { imessage: channels.includes("imessage"), sms: channels.includes("sms") },
    isDefault: number.isDefault,
    createdAt: iso(number.createdAt),
  };
}

/** The record of `GET /v1/numbers`. */
export function ownNumberRecord(number: CustomerNumber, instanceName: string, health: HealthStatus): OwnNumber {
  return { ...phoneOrEmail(number.address), instanceName, isDefault: number.isDefault, healthStatus: health };
}

function phoneOrEmail(address: string): { phoneNumber: string | null; email: string | null } {
  return isEmail(address) ? { phoneNumber: null, email: address } : { phoneNumber: address, email: null };
}

function isEmail(address: string): boolean {
  return address.includes("@");
}
