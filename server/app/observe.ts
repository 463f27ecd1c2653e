/** Records the engine's observations in metrics, usage and the log. */

import type { Event } from "../core/event.ts";
import type { UsageCounters } from "../engine/customers/usage.ts";
import type { Observer } from "../engine/observer.ts";
import type { Metrics } from "../metrics.ts";

/** The status that a message reached, by the event that reports it. Other events of a message report no new status. */
const STATUS_BY_EVENT: ReadonlyMap<string, string> = new Map([
  ["message.scheduled", "scheduled"],
  ["message.queued", "queued"],
  ["message.sent", "sent"],
  ["message.delivered", "delivered"],
  ["message.read", "read"],
  ["message.failed", "failed"],
  ["message.schedule_cancelled", "cancelled"],
  ["message.inbound", "received"],
]);

/** Counts the status that a message reached. Channel and error code are empty if the event has none. */
function countStatus(metrics: Metrics, { type, bytes }: Event): void {
  const status = STATUS_BY_EVENT.get(type);
  if (status === undefined) return;
  const { data } = JSON.parse(bytes) as { data: { channel?: string | null; errorCode?: string | null } };
  metrics.messages.inc({ status, channel: data.channel ?? "", error_code: data.errorCode ?? "" });
}

/** An observer that feeds metrics and usage, and logs the rest. */
export function createObserver(
  metrics: Metrics,
  usage: UsageCounters,
  { fault, clockStepped }: Pick<Observer, "fault" | "clockStepped">,
): Observer {
  return {
    accepted: () => metrics.messagesAccepted.inc(),
    emitted: (event) => countStatus(metrics, event),
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
