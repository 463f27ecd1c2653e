/** One delivery in a line: where it went, how it stands, and what can be done about it. */

import type { Delivery } from "../../sdk/wire.ts";
import { useRetryDelivery } from "../api/deliveries.ts";
import { Badge, StatusBadge, toneOfHttp } from "./badge.tsx";
import { Button } from "./button.tsx";
import { formatMs } from "./formats.ts";
import { RecordLink } from "./record-link.tsx";
import { Countdown } from "./time.tsx";
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

/** The line. */
export function DeliveryLine({ delivery }: { delivery: Delivery }) {
  const last = delivery.attempts.at(-1);
  const isOpen = delivery.status === "pending" || delivery.status === "exhausted";
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-t px-3 py-1.5">
      <StatusBadge status={delivery.status} />
      <RecordLink id={delivery.id}>
        <span className="block max-w-72 truncate text-xs">{delivery.url}</span>
      </RecordLink>
      <span className="flex-1" />
      {last !== undefined && <AttemptBadge attempt={last} of={delivery.status} />}
      <span className="text-xs text-faint tabular-nums">
        {last === undefined ? "no attempt yet" : formatMs(last.durationMs)}
        {delivery.attempts.length > 1 && ` · ${delivery.attempts.length} attempts`}
      </span>
      {delivery.nextAttemptAt !== null && delivery.attempts.length > 0 && (
        <span className="text-xs text-warn">
          next in <Countdown until={delivery.nextAttemptAt} />
        </span>
      )}
      {isOpen && last !== undefined && <RetryDelivery delivery={delivery} />}
    </div>
  );
}
