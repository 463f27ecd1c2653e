/** Endpoints whose newest deliveries do not arrive. Pure. */

import type { Delivery } from "../../../sdk/wire.ts";

/** An endpoint that fails. */
export interface FailingEndpoint {
  url: string;
  /** The page that helps: of the endpoint; of a delivery to a message's `callbackUrl`. */
  path: string;
  /** Deliveries that were given up: these need a hand. */
  lost: number;
  /** Deliveries that failed and are tried again. */
  retrying: number;
}

const SHOWN_MAX = 3;

/** The endpoints that fail among these deliveries, those that need a hand first. */
export function failingEndpoints(newest: readonly Delivery[]): FailingEndpoint[] {
  const failing = newest.filter(
    ({ status, attempts }) => status === "exhausted" || (status === "pending" && attempts.length > 0),
  );
  const byReceiver = Map.groupBy(failing, ({ webhookId, url }) => webhookId ?? url);
  return [...byReceiver.values()]
    .flatMap((deliveries) => {
      const [first] = deliveries;
      if (first === undefined) return [];
      const lost = deliveries.filter(({ status }) => status === "exhausted").length;
      const path = first.webhookId === null ? `/d/${first.id}` : `/webhooks/endpoints/${first.webhookId}`;
      return [{ url: first.url, path, lost, retrying: deliveries.length - lost }];
    })
    .sort((one, other) => other.lost - one.lost || other.retrying - one.retrying)
    .slice(0, SHOWN_MAX);
}
