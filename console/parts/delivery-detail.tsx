/** One delivery: where it goes, when the next attempt is due, each attempt with its answer, and what was sent. */

import type { Delivery } from "../../sdk/wire.ts";
import { useEvent } from "../api/events.ts";
import { attemptCurl } from "./attempt-curl.ts";
import { Badge, StatusBadge } from "./badge.tsx";
import { ContactName, useEventContact } from "./contact-name.tsx";
import { CopyButton, CopyId } from "./copy.tsx";
import { AttemptBadge, RetryDelivery } from "./delivery-line.tsx";
import { Fields, Panel } from "./fields.tsx";
import { formatMs } from "./formats.ts";
import { JsonView } from "./json-view.tsx";
import { RecordLink } from "./record-link.tsx";
import { Countdown, Time } from "./time.tsx";

/** The verb that fits: a delivery that waits is tried earlier, one that ended is tried once more. */
const VERBS: Record<Delivery["status"], string> = {
  pending: "Retry now",
  exhausted: "Retry now",
  succeeded: "Deliver again",
  cancelled: "Deliver it",
};

/** The detail. */
export function DeliveryDetail({ delivery }: { delivery: Delivery }) {
  const { id, url, status, eventId, eventType, messageId, webhookId, createdAt, attempts } = delivery;
  const event = useEvent(eventId).data;
  const contact = useEventContact(event);
  return (
    <div className="mx-auto flex w-full max-w-3xl flex-col gap-4 p-4">
      <Panel title="Delivery" aside={<RetryDelivery delivery={delivery} label={VERBS[status]} />}>
        <div className="p-4">
          <Fields
            fields={[
              ["Status", <Standing key="status" delivery={delivery} />],
              ["Id", <CopyId key="id" id={id} />],
              [
                "URL",
                <span key="url" className="font-mono text-xs break-all">
                  {url}
                </span>,
              ],
              [
                "Endpoint",
                webhookId === null ? "the message's callbackUrl" : <RecordLink key="webhook" id={webhookId} />,
              ],
              [
                "Event",
                <RecordLink key="event" id={eventId}>
                  <span className="font-mono text-xs">{eventType}</span>
                </RecordLink>,
              ],
              ["Message", messageId === null ? null : <RecordLink key="message" id={messageId} />],
              ["Contact", contact === null ? null : <ContactName key="contact" address={contact} isWhole />],
              ["Created", <Time key="created" at={createdAt} />],
            ]}
          />
        </div>
      </Panel>
      <Panel title="Attempts" aside={<Badge>{attempts.length}</Badge>}>
        {attempts.length === 0 && <p className="p-4 text-soft">No attempt has been made yet.</p>}
        <ol>
          {attempts.toReversed().map((attempt, index) => (
            <AttemptRow
              key={attempt.at}
              attempt={attempt}
              of={status}
              number={attempts.length - index}
              curl={
                attempt.requestHeaders === null || event === undefined
                  ? null
                  : attemptCurl(url, attempt.requestHeaders, JSON.stringify(event))
              }
            />
          ))}
        </ol>
      </Panel>
      <Sent eventId={eventId} />
    </div>
  );
}

/** The status, with the countdown to the next attempt. */
function Standing({ delivery: { status, nextAttemptAt, attempts } }: { delivery: Delivery }) {
  return (
    <span className="flex flex-wrap items-center gap-2">
      <StatusBadge status={status} />
      {nextAttemptAt !== null && (
        <span className={attempts.length === 0 ? "text-soft" : "text-warn"}>
          {attempts.length === 0 ? "first" : "next"} attempt in <Countdown until={nextAttemptAt} />
        </span>
      )}
    </span>
  );
}

interface AttemptRowProps {
  attempt: Delivery["attempts"][number];
  of: Delivery["status"];
  number: number;
  /** Its request as curl; null if its headers or the event are not stored. */
  curl: string | null;
}

function AttemptRow({ attempt, of, number, curl }: AttemptRowProps) {
  return (
    <li className="border-t px-4 py-2 first:border-t-0">
      <div className="flex flex-wrap items-center gap-x-3">
        <span className="w-5 text-right text-faint tabular-nums">{number}</span>
        <AttemptBadge attempt={attempt} of={of} />
        <span className="whitespace-nowrap text-soft tabular-nums">{formatMs(attempt.durationMs)}</span>
        {attempt.retryAfterSeconds !== null && (
          <span className="whitespace-nowrap text-warn tabular-nums">asked to wait {attempt.retryAfterSeconds} s</span>
        )}
        <span className="flex-1" />
        {curl !== null && <CopyButton text={curl} label="Copy as curl" />}
        <Time at={attempt.at} className="text-faint" />
      </div>
      {(attempt.response ?? "") !== "" && (
        <pre
          tabIndex={0}
          className="mt-1.5 ml-8 max-h-40 overflow-auto rounded bg-panel p-2 font-mono text-xs whitespace-pre-wrap"
        >
          {attempt.response}
        </pre>
      )}
    </li>
  );
}

/** The body of every attempt: the event never changes, only the signature and its time are new. */
function Sent({ eventId }: { eventId: string }) {
  const event = useEvent(eventId);
  return (
    <Panel title="Sent" aside={<span className="text-xs text-faint">the same body in each attempt, signed anew</span>}>
      {event.data === undefined ? (
        <p className="p-4 text-soft">{event.isError ? "The event is no longer stored." : "…"}</p>
      ) : (
        <JsonView value={event.data} label="the body" />
      )}
    </Panel>
  );
}
