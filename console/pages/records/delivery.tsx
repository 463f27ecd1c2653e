/** The page of one delivery. */

import { useDelivery } from "../../api/deliveries.ts";
import { DeliveryDetail } from "../../parts/delivery-detail.tsx";
import { Read } from "../../parts/read.tsx";
import type { ScreenProps } from "../../parts/screen.ts";

/** The page of `/d/:id`. */
export function DeliveryPage({ params: { id = "" } }: ScreenProps) {
  return <Read found={useDelivery(id)}>{(delivery) => <DeliveryDetail delivery={delivery} />}</Read>;
}
