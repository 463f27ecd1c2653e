/** The newest requests of the sandbox's inbox: each with its response, and whether its signature is right. */

import type { Inbox, InboxRequest } from "../../../sdk/wire.ts";
import { eventOf } from "../../api/inbox-items.ts";
import { Badge, toneOfHttp } from "../../parts/badge.tsx";
import { RecordLink } from "../../parts/record-link.tsx";
import { Time } from "../../parts/time.tsx";

const SHOWN = 3;

/** The newest requests; nothing before the first one. */
export function Receipts({ inbox: { requests } }: { inbox: Inbox }) {
  if (requests.length === 0) return null;
  return (
    <ul aria-label="Newest requests of the inbox" className="divide-y rounded-lg border">
      {requests.slice(0, SHOWN).map((request) => (
        <li
          key={`${request.receivedAt} ${request.headers["webhook-id"] ?? ""}`}
          className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-1.5"
        >
          <Receipt request={request} />
        </li>
      ))}
    </ul>
  );
}

function Receipt({ request }: { request: InboxRequest }) {
  const { receivedAt, status, verified } = request;
  const event = eventOf(request);
  return (
    <>
      {event === null ? (
        <span className="text-soft">no event</span>
      ) : (
        <RecordLink id={event.id}>
          <span className="font-mono text-xs">{event.type}</span>
        </RecordLink>
      )}
      <span className="flex-1" />
      <Badge tone={verified ? "good" : "warn"} title="X-Signature, checked with the inbox's secret">
        {verified ? "verified" : "not verified"}
      </Badge>
      <Badge tone={status >= 500 ? "warn" : toneOfHttp(status)}>{status}</Badge>
      <Time at={receivedAt} className="w-12 text-right text-xs text-faint max-sm:hidden" />
    </>
  );
}
