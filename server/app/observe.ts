/** Records the engine's observations in metrics, usage and the log. */

import type { UsageCounters } from "../engine/customers/usage.ts";
import type { Observer } from "../engine/observer.ts";
import type { Metrics } from "../metrics.ts";

/** An observer that feeds metrics and usage, and logs the rest. */
export function createObserver(
  metrics: Metrics,
  usage: UsageCounters,
  { fault, clockStepped }: Pick<Observer, "fault" | "clockStepped">,
): Observer {
  return {
    accepted: () => metrics.messagesAccepted.inc(),
    sent(_, keyId, segments) {
      if (keyId === null) return;
      usage.count([keyId], "messagesSent");
      if (segments > 0) usage.count([keyId], "segments", segments);
    },
    received: (customerId) => usage.count([customerId], "messagesReceived"),
    unknownOutcome: () => metrics.outcomesUnknown.inc(),
    attempted(customerId, outcome) {
      metrics.deliveryAttempts[outcome] += 1;
      usage.count([customerId], outcome === "succeeded" ? "webhooksDelivered" : "webhooksFailed");
    },
    outOf: (limit) => metrics.deliveriesGivenBack.inc({ limit: limit.toLowerCase() }),
    dueLag: (lagMs) => metrics.dueLagSeconds.observe({ loop: "deliver" }, Math.max(0, lagMs) / 1_000),
    inFlight(loop, count) {
      metrics.inFlight[loop] = count;
    },
    breakersOpen: (count) => metrics.breakersOpen.set(count),
    clockStepped,
    fault,
  };
}
