/** Notifies those who follow deliveries, in this process and in others, that a request changed some or made some of old events. */

import type { CustomerId, DeliveryId } from "../../core/id.ts";
import type { With } from "../engine-deps.ts";

/** Deliveries of one announcement, the last of those given. */
const ANNOUNCED_MAX = 100;

/**
 * Announces deliveries. Attempts need no announcement: who follows a delivery that is due reads it until it is not. Never throws: a Wire
 * of another process may then miss the change.
 */
export async function announceDeliveries(
  { attempted, observer, store }: With<"attempted">,
  customerId: CustomerId,
  changed: readonly DeliveryId[],
): Promise<void> {
  const ids = changed.slice(-ANNOUNCED_MAX);
  for (const id of ids) attempted.notify(id, customerId);
  try {
    await store.shared?.announceDeliveries({ customerId, ids });
  } catch (error) {
    observer.fault("announce-deliveries", error);
  }
}
