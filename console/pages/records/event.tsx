/** One event: its envelope as it was delivered, and its deliveries. */

import type { Event } from "../../../sdk/wire.ts";
import { useDeliveries } from "../../api/deliveries.ts";
import { useEvent } from "../../api/events.ts";
import { ContactName, useEventContact } from "../../parts/contact-name.tsx";
import { CopyId } from "../../parts/copy.tsx";
import { DeliveryLines } from "../../parts/delivery-line.tsx";
import { Fields, Panel } from "../../parts/fields.tsx";
import { JsonView } from "../../parts/json-view.tsx";
import { Read } from "../../parts/read.tsx";
import { RecordLink } from "../../parts/record-link.tsx";
import type { ScreenProps } from "../../parts/screen.ts";
import { Time } from "../../parts/time.tsx";

/** The page of `/e/:id`. */
export function EventPage({ params: { id = "" } }: ScreenProps) {
  return <Read found={useEvent(id)}>{(event) => <EventDetail event={event} />}</Read>;
}

function EventDetail({ event }: { event: Event }) {
  const contact = useEventContact(event);
  const deliveries = useDeliveries({ eventId: event.id });
  const messageId = "messageId" in event.data && typeof event.data.messageId === "string" ? event.data.messageId : null;
  return (
    <div className="mx-auto flex w-full max-w-3xl flex-col gap-4 p-4">
      <Panel title={event.type}>
        <div className="p-4">
          <Fields
            fields={[
              ["Id", <CopyId key="id" id={event.id} />],
              ["Contact", contact === null ? null : <ContactName key="contact" address={contact} isWhole />],
              ["Happened", <Time key="at" at={event.timestamp} />],
              ["Message", messageId === null ? null : <RecordLink key="message" id={messageId} />],
            ]}
          />
        </div>
      </Panel>
      <Panel title="Deliveries">
        <Read found={deliveries} rows={1}>
          {({ deliveries: sent }) =>
            sent.length === 0 ? (
              <p className="p-4 text-soft">No endpoint subscribes to it.</p>
            ) : (
              <DeliveryLines deliveries={sent} by="receiver" />
            )
          }
        </Read>
      </Panel>
      <Panel title="Envelope">
        <JsonView value={event} label="the event" />
      </Panel>
    </div>
  );
}
