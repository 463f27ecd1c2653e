/** The events of a message, each with its deliveries: what your server was told, and what it answered. */

import type { Delivery, Event } from "../../../sdk/wire.ts";
import { useDeliveries } from "../../api/deliveries.ts";
import { useEvents } from "../../api/events.ts";
import { DeliveryLines } from "../../parts/delivery-line.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Read } from "../../parts/read.tsx";
import { RecordLink } from "../../parts/record-link.tsx";
import { Time } from "../../parts/time.tsx";

/** Events, oldest first, with their deliveries. */
export function Consequences({ messageId }: { messageId: string }) {
  const events = useEvents({ messageId });
  const deliveries = useDeliveries({ messageId });
  return (
    <Read found={events}>
      {({ events: happened }) =>
        happened.length === 0 ? (
          <Empty icon="webhooks" title="No events yet" />
        ) : (
          <Read found={deliveries}>{(sent) => <EventCards events={happened} deliveries={sent.deliveries} />}</Read>
        )
      }
    </Read>
  );
}

function EventCards({ events, deliveries }: { events: readonly Event[]; deliveries: readonly Delivery[] }) {
  const byEvent = Map.groupBy(deliveries, ({ eventId }) => eventId);
  return (
    <ol className="flex flex-col gap-3 p-4">
      {events.toReversed().map((event) => (
        <EventCard key={event.id} event={event} deliveries={byEvent.get(event.id) ?? []} />
      ))}
    </ol>
  );
}

function EventCard({ event, deliveries }: { event: Event; deliveries: readonly Delivery[] }) {
  return (
    <li className="overflow-hidden rounded-lg border">
      <div className="flex items-center justify-between gap-3 bg-panel px-4 py-1.5">
        <RecordLink id={event.id}>
          <span className="font-mono text-xs font-medium">{event.type}</span>
        </RecordLink>
        <Time at={event.timestamp} className="text-xs text-faint" />
      </div>
      <div className="border-t">
        {deliveries.length === 0 ? (
          <p className="px-4 py-1.5 text-xs text-faint">No endpoint subscribes to it.</p>
        ) : (
          <DeliveryLines deliveries={deliveries.toReversed()} by="receiver" />
        )}
      </div>
    </li>
  );
}
