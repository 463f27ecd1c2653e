/** The changes that this process makes to deliveries that it has in hand: their holder gives up those that have not begun. */

import type { EncodedOperation, PushedRow } from "../jobs/jobs.ts";
import { type DeliveryLeases, NO_ROW } from "./delivery-leases.ts";

/** Deliveries are no longer due. */
export function goneFromHand(leases: Pick<DeliveryLeases, "laneOf">, ids: readonly string[]): PushedRow[] {
  return ids.flatMap((id): PushedRow[] => (leases.laneOf(id) === null ? [] : [["gone", id]]));
}

/** The due times of deliveries change by some transactions, such as a retry by hand. */
export function changedInHand(
  leases: Pick<DeliveryLeases, "laneOf">,
  transactions: readonly { operations: readonly EncodedOperation[] }[],
): PushedRow[] {
  const operations = transactions.flatMap((one) => one.operations);
  return operations.flatMap((operation): PushedRow[] => {
    if (operation[0] !== "update" || operation[1] !== "deliveries") return [];
    const [, , properties, values, id] = operation;
    const place = properties.split(",").indexOf("dueAt");
    const lane = place === -1 ? null : leases.laneOf(id);
    if (lane === null) return [];
    const dueAt = values[place];
    return [typeof dueAt === "number" ? ["due", id, lane, dueAt, NO_ROW] : ["gone", id]];
  });
}
