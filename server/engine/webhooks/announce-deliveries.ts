/**
 * Announces deliveries that a request has changed, or has made of old events. The announcement goes to the loops that
 * send them and to the Wires that follow them, in this process and in others.
 */

import type { Delivery } from "../../core/delivery.ts";
import type { CustomerId } from "../../core/id.ts";
import type { With } from "../engine-deps.ts";

/** Most deliveries of one announcement: the last given ones. */
const ANNOUNCED_MAX = 100;

/**
 * Wakes the lanes of deliveries that are due since a commit, and announces the deliveries to those who follow them. `atOnce`: a person asks for
 * them, so they do not wait for a receiver that is not reached. Attempts need no announcement: who follows a delivery that is due
 * reads it until it is not. Never throws: a Wire of another process may then miss the change.
 */
export async function announceDeliveries(
  { attempted, observer, store, wake }: With<"attempted">,
  customerId: CustomerId,
  changed: readonly Pick<Delivery, "id" | "lane">[],
  { atOnce }: { atOnce: boolean },
): Promise<void> {
  const lanes = new Set(changed.map(({ lane }) => lane));
  const all = changed.map(({ id }) => id);
  wake.deliveries(lanes, atOnce ? all : []);
  const ids = all.slice(-ANNOUNCED_MAX);
  for (const id of ids) attempted.notify(id, customerId);
  try {
    await store.shared?.announceDeliveries({ customerId, ids });
  } catch (error) {
    observer.fault("announce-deliveries", error);
  }
}
