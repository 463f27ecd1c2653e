/** Deliveries in lines: where each went, how it stands, and what can be done about it. */

import type { Delivery } from "../../sdk/wire.ts";
import { useRetryDelivery } from "../api/deliveries.ts";
import { Badge, StatusBadge, toneOfHttp } from "./badge.tsx";
import { Button } from "./button.tsx";
import { formatMs } from "./formats.ts";
import { RecordLink } from "./record-link.tsx";
import { Countdown, Time } from "./time.tsx";
import { toast, toastError } from "./toasts.tsx";

interface AttemptBadgeProps {
  attempt: Delivery["attempts"][number];
  /** Status of the delivery: a failed attempt needs a hand only if no other one follows. */
  of: Delivery["status"];
}

/** The result of an attempt as a badge. */
export function AttemptBadge({ attempt: { status, error }, of }: AttemptBadgeProps) {
  const tone = toneOfHttp(status);
  return <Badge tone={tone === "bad" && of !== "exhausted" ? "warn" : tone}>{status ?? error ?? "no response"}</Badge>;
}

/** Makes another attempt at once. */
export function RetryDelivery({ delivery, label = "Retry now" }: { delivery: Delivery; label?: string }) {
  const retry = useRetryDelivery();
  const run = () =>
    retry.mutate(delivery.id, { onSuccess: () => toast("One more attempt is on its way."), onError: toastError });
  return (
    <Button icon="retry" disabled={retry.isPending} onClick={run}>
      {label}
    </Button>
  );
}

interface DeliveryLinesProps {
  deliveries: readonly Delivery[];
  /** The name of a line: the receiver where all are of one event, the event where all are to one receiver. */
  by: "receiver" | "event";
}

/** Deliveries, a line each, in the given order; nothing without one. */
export function DeliveryLines({ deliveries, by }: DeliveryLinesProps) {
  if (deliveries.length === 0) return null;
  return (
    <ul aria-label="Deliveries" className="divide-y">
      {deliveries.map((delivery) => (
        <DeliveryLine key={delivery.id} delivery={delivery} by={by} />
      ))}
    </ul>
  );
}

/** The event's own time stands above the lines of one event; on a narrow page the duration makes room. */
function DeliveryLine({ delivery, by }: { delivery: Delivery; by: DeliveryLinesProps["by"] }) {
  const { id, status, attempts, nextAttemptAt, createdAt, eventType, url } = delivery;
  const last = attempts.at(-1);
  const isOpen = status === "pending" || status === "exhausted";
  return (
    <li className="flex min-h-10 flex-wrap items-center gap-x-3 gap-y-1 px-4 py-1.5 max-sm:gap-x-2">
      <StatusBadge status={status} />
      <RecordLink id={id}>
        <span className="block max-w-72 truncate font-mono text-xs">{by === "event" ? eventType : url}</span>
      </RecordLink>
      <span className="ml-auto flex flex-wrap items-center justify-end gap-x-3 gap-y-1 text-xs text-faint tabular-nums max-sm:gap-x-2">
        {nextAttemptAt !== null && attempts.length > 0 && (
          <span className="text-warn">
            next in <Countdown until={nextAttemptAt} />
          </span>
        )}
        {isOpen && last !== undefined && <RetryDelivery delivery={delivery} />}
        {last !== undefined && <AttemptBadge attempt={last} of={status} />}
        {last === undefined && "no attempt yet"}
        {last !== undefined && <span className="max-sm:hidden">{formatMs(last.durationMs)}</span>}
        {attempts.length > 1 && <span>{attempts.length} attempts</span>}
        {by === "event" && <Time at={createdAt} className="text-right sm:w-12" />}
      </span>
    </li>
  );
}
