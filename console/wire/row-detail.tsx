/** A row of the Wire, opened: what it is about, its headers and exact bytes, its signature, and the call to make again. */

import { type ReactNode, useEffect } from "react";
import type { Attempt, Delivery, Event, LoggedExchange, Message } from "../../sdk/wire.ts";
import type { WireRow } from "../../sdk/wire-rows.ts";
import { useToldDelivery } from "../api/context.ts";
import { useDeliveries, useDelivery } from "../api/deliveries.ts";
import { useEvent } from "../api/events.ts";
import { useMessage } from "../api/messages.ts";
import { useRequest } from "../api/requests.ts";
import { useInbox } from "../api/sandbox.ts";
import { numberInApiPath, pathOf, pathOfRequest } from "../parts/addresses.ts";
import { attemptCurl } from "../parts/attempt-curl.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { IconButton } from "../parts/button.tsx";
import { CodeBlock } from "../parts/code-block.tsx";
import { ContactName } from "../parts/contact-name.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { DeliveryLines, RetryDelivery } from "../parts/delivery-line.tsx";
import { Failed, Loading } from "../parts/empty.tsx";
import { Fields, Panel } from "../parts/fields.tsx";
import { formatExact, formatMs } from "../parts/formats.ts";
import { parseBody } from "../parts/logged-body.ts";
import { Read } from "../parts/read.tsx";
import { RecordLink } from "../parts/record-link.tsx";
import { type ApiCall, snippetsOf } from "../parts/snippets.ts";
import { Countdown, Time } from "../parts/time.tsx";
import { callOf, eventCall, messageCall, retryCall } from "./calls.ts";
import { attemptOf, byteLength, isAccepted, receivedOf } from "./sent.ts";
import { Signature } from "./signature.tsx";
import { colourOf, Direction, RowStatus } from "./wire-line.tsx";

/** The detail. */
export function RowDetail({ row, onClose }: { row: WireRow; onClose: () => void }) {
  const { title, at, detail, kind } = row;
  const number = kind === "request" ? numberInApiPath(title) : null;
  return (
    <>
      <header className="flex h-9 shrink-0 items-center gap-2 border-b pr-2 pl-3">
        <Direction direction={row.direction} />
        <h3 className="min-w-0 truncate font-mono text-xs font-semibold">{title}</h3>
        <span className={`font-mono text-xs whitespace-nowrap ${colourOf(row)}`}>
          <RowStatus row={row} />
        </span>
        <div className="flex-1" />
        <IconButton label="Close the row" hint="Esc" icon="close" onClick={onClose} />
      </header>
      <div
        tabIndex={0}
        className="flex min-h-0 flex-1 flex-col gap-3 overflow-y-auto p-3 outline-offset-[-2px] scroll-thin"
      >
        <Fields
          fields={[
            [
              "At",
              <span key="at" className="font-mono text-xs">
                {formatExact(at).split(" (")[0]}
              </span>,
            ],
            ["Contact", number === null ? null : <ContactName key="contact" address={number} isWhole />],
            ["Detail", detail === "" ? null : detail],
            ...linksOf(row),
          ]}
        />
        <Content row={row} />
      </div>
    </>
  );
}

/** No page shows a delivery to the inbox. */
function linksOf({ title, ids: { request, message, event, delivery: id } }: WireRow): [string, ReactNode][] {
  const delivery = title.endsWith("the inbox") ? undefined : id;
  const links = { Request: request, Message: message, Event: event, Delivery: delivery };
  return Object.entries(links).flatMap(([name, id]) =>
    id === undefined
      ? []
      : [[name, <RecordLink key={id} id={id} path={name === "Request" ? pathOfRequest(id) : pathOf(id)} />]],
  );
}

function Content({ row: { kind, ids, at } }: { row: WireRow }) {
  if (kind === "request" && ids.request !== undefined) return <RequestContent id={ids.request} />;
  if (kind === "event" && ids.event !== undefined) return <EventContent id={ids.event} />;
  if (kind === "hop" && ids.message !== undefined) return <MessageContent id={ids.message} />;
  if (ids.delivery !== undefined && ids.event !== undefined)
    return <DeliveryContent id={ids.delivery} eventId={ids.event} at={at} />;
  return null;
}

function RequestContent({ id }: { id: string }) {
  return <Read found={useRequest(id)}>{(exchange) => <ExchangeParts exchange={exchange} />}</Read>;
}

function ExchangeParts({ exchange }: { exchange: LoggedExchange }) {
  const { id, method, path, request, response, correlationId } = exchange;
  return (
    <>
      <Bytes title="Request body" text={request?.text ?? null} isCut={request?.truncated} none="No body." />
      <Bytes
        title="Response body"
        text={response?.text ?? null}
        isCut={response?.truncated}
        none="Not logged: a stream, or the setting keeps no bodies."
      />
      <Headers
        title="Response headers that name it"
        headers={{ "X-Request-Id": id, "X-Correlation-Id": correlationId }}
      />
      <Code label="The request as code" call={callOf(method, path, parseBody(request))} />
    </>
  );
}

function MessageContent({ id }: { id: string }) {
  return <Read found={useMessage(id)}>{(message) => <MessageParts message={message} />}</Read>;
}

function MessageParts({ message: { id, status: standing, timeline } }: { message: Message }) {
  return (
    <>
      <Panel title="Timeline" aside={<StatusBadge status={standing} />}>
        <ol className="flex flex-col py-1 text-xs">
          {timeline.map(({ at, status, channel, reason = "" }) => (
            <li key={`${at} ${channel} ${status} ${reason}`} className="flex gap-3 px-3 py-1">
              <span className="w-16 shrink-0 text-soft">{status}</span>
              <span className="w-16 shrink-0 text-faint">{channel}</span>
              <span className="min-w-0 flex-1">{reason}</span>
              <Time at={at} className="text-faint" />
            </li>
          ))}
        </ol>
      </Panel>
      <Code label="The message as code" call={messageCall(id)} />
    </>
  );
}

function EventContent({ id }: { id: string }) {
  return <Read found={useEvent(id)}>{(event) => <EventParts event={event} />}</Read>;
}

function EventParts({ event }: { event: Event }) {
  const { id } = event;
  const sent = useDeliveries({ eventId: id }).data?.deliveries ?? [];
  return (
    <>
      <Bytes title="The event's bytes" text={JSON.stringify(event)} />
      {sent.length > 0 && (
        <Panel title="Deliveries">
          <DeliveryLines deliveries={sent} by="receiver" />
        </Panel>
      )}
      <Code label="The event as code" call={eventCall(id)} />
    </>
  );
}

/** The delivery: as the stream told it, since no list has those to the sandbox's inbox, else as it is read. */
function DeliveryContent({ id, eventId, at }: { id: string; eventId: string; at: number }) {
  const told = useToldDelivery(id);
  if (told === null) return <ReadDelivery id={id} eventId={eventId} at={at} />;
  return <DeliveryParts delivery={told} eventId={eventId} at={at} />;
}

function ReadDelivery({ id, eventId, at }: { id: string; eventId: string; at: number }) {
  return (
    <Read found={useDelivery(id)}>{(delivery) => <DeliveryParts delivery={delivery} eventId={eventId} at={at} />}</Read>
  );
}

function DeliveryParts({ delivery, eventId, at }: { delivery: Delivery; eventId: string; at: number }) {
  const event = useEvent(eventId);
  const inbox = useInbox();
  const { refetch } = inbox;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the inbox has one more request with each attempt.
  useEffect(() => void refetch(), [refetch, delivery.attempts.length]);
  if (event.isPending) return <Loading />;
  if (event.isError) return <Failed error={event.error} onRetry={() => void event.refetch()} />;
  const body = JSON.stringify(event.data);
  const attempt = attemptOf(delivery, at);
  const isInbox = delivery.url.startsWith("/sandbox/inbox/");
  const box = isInbox ? (inbox.data ?? null) : null;
  const received = box === null ? null : receivedOf(delivery, attempt, body, box.requests);
  const sent = attempt?.requestHeaders ?? null;
  const headers = sent ?? received?.headers ?? null;
  const url = isInbox ? location.origin + delivery.url : delivery.url;
  return (
    <>
      {delivery.nextAttemptAt !== null && (
        <div className="flex flex-wrap items-center gap-3 rounded-lg bg-warn-soft px-3 py-2 text-warn">
          <span>
            The next attempt is due: <Countdown until={delivery.nextAttemptAt} />
          </span>
          <span className="flex-1" />
          {delivery.attempts.length > 0 && !isInbox && <RetryDelivery delivery={delivery} />}
        </div>
      )}
      <Panel title="Attempts" aside={<StatusBadge status={delivery.status} />}>
        <ol className="flex flex-col py-1 text-xs">
          {delivery.attempts.map((each) => (
            <li
              key={each.at}
              aria-current={each === attempt}
              className={`flex items-center gap-3 px-3 py-1 ${each === attempt ? "bg-hover" : ""}`}
            >
              <span className={`w-10 shrink-0 font-mono ${attemptColour(delivery, each)}`}>{each.status ?? "–"}</span>
              <span className="min-w-0 flex-1 truncate font-mono text-soft">{each.error ?? each.response ?? ""}</span>
              <span className="text-faint tabular-nums">{each.durationMs > 0 && formatMs(each.durationMs)}</span>
              <Time at={each.at} className="text-faint" />
            </li>
          ))}
          {delivery.attempts.length === 0 && <li className="px-3 py-1 text-faint">No attempt yet.</li>}
        </ol>
      </Panel>
      {headers !== null && (
        <Headers title={`Headers of POST ${isInbox ? "the inbox" : delivery.url}`} headers={headers} />
      )}
      <Bytes title="Body: the event's bytes" text={body} />
      <Signature
        body={body}
        timestamp={sent?.["X-Timestamp"] ?? received?.headers["x-timestamp"] ?? null}
        sent={sent?.["X-Signature"] ?? received?.headers["x-signature"] ?? null}
        secret={box?.secret ?? null}
      />
      {attempt?.response != null && attempt.response !== "" && (
        <Bytes title="The receiver's answer" text={attempt.response} />
      )}
      {sent !== null && (
        <div className="shrink-0">
          <CodeBlock label="The attempt as curl" snippets={{ curl: attemptCurl(url, sent, body) }} />
        </div>
      )}
      {isInbox ? (
        <Code label="The event as code" call={eventCall(eventId)} />
      ) : (
        <Code label="One more attempt as code" call={retryCall(delivery.id)} />
      )}
    </>
  );
}

/** Red only for the attempt after which the delivery was given up. */
function attemptColour({ status, attempts }: Delivery, attempt: Attempt): string {
  if (isAccepted(attempt)) return "text-good";
  return status === "exhausted" && attempt === attempts.at(-1) ? "text-bad" : "text-warn";
}

function Code({ label, call }: { label: string; call: ApiCall }) {
  return (
    <div className="shrink-0">
      <CodeBlock label={label} snippets={snippetsOf(call, location.origin)} />
    </div>
  );
}

function Headers({ title, headers }: { title: string; headers: Record<string, string> }) {
  return (
    <Panel title={title}>
      <dl className="grid grid-cols-[max-content_minmax(0,1fr)] gap-x-3 gap-y-0.5 p-3 font-mono text-xs">
        {Object.entries(headers).map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-faint">{name}</dt>
            <dd className="break-all">{value}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}

interface BytesProps {
  title: string;
  text: string | null;
  isCut?: boolean | undefined;
  /** Said if there are none. */
  none?: string;
}

/** A body, byte for byte. */
function Bytes({ title, text, isCut = false, none = "" }: BytesProps) {
  const aside = text !== null && (
    <span className="flex items-center gap-1 text-xs text-faint tabular-nums">
      {isCut ? "the first 4 KiB" : `${byteLength(text)} bytes`}
      <CopyButton text={text} label={`Copy: ${title}`} />
    </span>
  );
  return (
    <Panel title={title} aside={aside}>
      {text === null ? (
        <p className="px-4 py-2 text-faint">{none}</p>
      ) : (
        <pre className="max-h-64 overflow-y-auto p-3 font-mono text-xs leading-5 break-all whitespace-pre-wrap scroll-thin">
          {text}
        </pre>
      )}
    </Panel>
  );
}
