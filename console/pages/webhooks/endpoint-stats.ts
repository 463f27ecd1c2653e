/** How an endpoint does, from its newest deliveries. Pure. */

import type { Delivery, Webhook } from "../../../sdk/wire.ts";
import { quantile } from "../../parts/formats.ts";

/** A delivery as a bar: its height is the time of its last attempt, its colour the result. */
export interface DeliveryBar {
  id: string;
  /** A share of the tallest bar, from 0 to 1. */
  height: number;
  result: "delivered" | "waiting" | "lost" | "cancelled";
}

/** The state of an endpoint, as people would call it. */
export type EndpointState = "paused" | "gone" | "idle" | "delivering" | "retrying" | "undelivered";

/** Figures of an endpoint. */
export interface EndpointStats {
  /** Attempts that got a 2xx, and all attempts. */
  succeeded: number;
  attempts: number;
  p95Ms: number | null;
  /** Deliveries that were given up: these need a hand. */
  lost: readonly Delivery[];
  /** Deliveries that failed and will be tried again. */
  retrying: number;
  /** Oldest first. */
  bars: readonly DeliveryBar[];
}

const BARS_MAX = 40;
const RESULTS = { succeeded: "delivered", pending: "waiting", exhausted: "lost", cancelled: "cancelled" } as const;

function isSuccess({ status }: Delivery["attempts"][number]): boolean {
  return status !== null && status >= 200 && status < 300;
}

function barsOf(newest: readonly Delivery[]): DeliveryBar[] {
  const shown = newest.slice(0, BARS_MAX).toReversed();
  const lastMs = ({ attempts }: Delivery) => attempts.at(-1)?.durationMs ?? 0;
  const tallest = Math.max(1, ...shown.map(lastMs));
  return shown.map((delivery) => ({
    id: delivery.id,
    height: lastMs(delivery) / tallest,
    result: RESULTS[delivery.status],
  }));
}

/** The figures of deliveries, newest first. */
export function statsOf(newest: readonly Delivery[]): EndpointStats {
  const attempts = newest.flatMap((delivery) => delivery.attempts);
  return {
    succeeded: attempts.filter(isSuccess).length,
    attempts: attempts.length,
    p95Ms: quantile(
      attempts.map(({ durationMs }) => durationMs),
      0.95,
    ),
    lost: newest.filter(({ status }) => status === "exhausted"),
    retrying: newest.filter(({ status, attempts }) => status === "pending" && attempts.length > 0).length,
    bars: barsOf(newest),
  };
}

/** The state: a paused endpoint is paused whatever failed before, and one that is gone says why deliveries failed. */
export function stateOf(
  { active, isGone }: Pick<Webhook, "active" | "isGone">,
  { lost, retrying, attempts }: EndpointStats,
): EndpointState {
  if (!active) return "paused";
  if (isGone) return "gone";
  if (lost.length > 0) return "undelivered";
  if (retrying > 0) return "retrying";
  return attempts === 0 ? "idle" : "delivering";
}
