/** One endpoint: its figures, its newest deliveries, and what can be done with it. */

import { useState } from "react";
import { Link } from "wouter";
import type { Delivery, Webhook } from "../../../sdk/wire.ts";
import { useDeliveries, useRetryDeliveries } from "../../api/deliveries.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { CopyButton, CopyId } from "../../parts/copy.tsx";
import { DeliveryLines } from "../../parts/delivery-line.tsx";
import { Fields, Panel } from "../../parts/fields.tsx";
import { counted, formatMs, formatShare } from "../../parts/formats.ts";
import { Icon } from "../../parts/icons.tsx";
import { DetailHead } from "../../parts/split.tsx";
import { Time } from "../../parts/time.tsx";
import { toast, toastError } from "../../parts/toasts.tsx";
import { EndpointBadge, nameOf } from "./endpoint-columns.tsx";
import { statsOf } from "./endpoint-stats.ts";
import { EndpointVerbs } from "./endpoint-verbs.tsx";
import { GraceBar } from "./grace.tsx";
import { ReplayDialog } from "./replay.tsx";
import { Sparkline } from "./sparkline.tsx";

const NEWEST_SHOWN = 12;

/** The detail. */
export function EndpointDetail({ endpoint, onClose }: { endpoint: Webhook; onClose: () => void }) {
  const found = useDeliveries({ webhookId: endpoint.id });
  const newest = found.data?.deliveries ?? [];
  const { lost, succeeded, attempts, p95Ms, bars } = statsOf(newest);
  const [isReplaying, setReplaying] = useState(false);
  return (
    <>
      <DetailHead
        line={
          <>
            <h2 className="min-w-0 truncate text-lg font-semibold">{nameOf(endpoint)}</h2>
            <EndpointBadge endpoint={endpoint} />
            {endpoint.primary && <Badge title="The endpoint of PUT /v1/webhooks">primary</Badge>}
            <span className="flex-1" />
          </>
        }
        onClose={onClose}
      >
        <p className="flex items-center gap-1 font-mono text-xs text-soft">
          <span className="min-w-0 break-all">{endpoint.url}</span>
          <CopyButton text={endpoint.url} label="Copy the URL" />
        </p>
        <EndpointVerbs endpoint={endpoint} onReplay={() => setReplaying(true)} onDeleted={onClose} />
      </DetailHead>
      <div className="flex flex-col gap-4 p-4">
        {endpoint.isGone && <Gone />}
        {lost.length > 0 && <Lost lost={lost} isActive={endpoint.active} />}
        <GraceBar endpoint={endpoint} />
        {!endpoint.standardWebhooks && <SignsAlone />}
        <div className="grid grid-cols-3 gap-px overflow-hidden rounded-xl border bg-line sm:grid-cols-[1fr_1fr_1fr_auto]">
          <Figure title="Success" value={formatShare(succeeded, attempts)} />
          <Figure title="p95" value={p95Ms === null ? "–" : formatMs(p95Ms)} />
          <Figure title="Attempts" value={String(attempts)} />
          <div className="col-span-3 flex items-end bg-raised p-3 sm:col-span-1">
            <Sparkline bars={bars} />
          </div>
        </div>
        <Fields
          fields={[
            ["Id", <CopyId key="id" id={endpoint.id} />],
            ["Events", <Subscribed key="events" endpoint={endpoint} />],
            ["At once", `${counted(endpoint.maxInFlight, "attempt")} at most`],
            ["Changed", <Time key="changed" at={endpoint.updatedAt} />],
          ]}
        />
        <Panel
          title="Newest deliveries"
          aside={
            <Link
              href={`/webhooks/deliveries?q=webhook%3A${endpoint.id}`}
              className="rounded text-accent underline-offset-2 hover:underline"
            >
              All of them
            </Link>
          }
        >
          {found.data !== undefined && newest.length === 0 && (
            <p className="p-4 text-soft">No delivery yet: send a test event to make one.</p>
          )}
          <DeliveryLines deliveries={newest.slice(0, NEWEST_SHOWN)} by="event" />
        </Panel>
      </div>
      {isReplaying && <ReplayDialog endpoint={endpoint} onClose={() => setReplaying(false)} />}
    </>
  );
}

/** Deliveries that need a hand, and the verb. */
function Lost({ lost, isActive }: { lost: readonly Delivery[]; isActive: boolean }) {
  const retry = useRetryDeliveries();
  const run = () =>
    retry.mutate(
      lost.map(({ id }) => id),
      { onSuccess: () => toast("One more attempt of each is on its way."), onError: toastError },
    );
  return (
    <div role="status" className="flex flex-wrap items-center gap-2 rounded-lg bg-bad-soft px-3 py-2 text-bad">
      <Icon name="warning" size={14} />
      <p className="min-w-40 flex-1">
        {lost.length === 1 ? "One delivery was" : `${lost.length} deliveries were`} given up after the last attempt.
      </p>
      <Button icon="retry" disabled={retry.isPending || !isActive} onClick={run}>
        {retry.isPending ? "Retrying…" : lost.length === 1 ? "Retry it" : "Retry them"}
      </Button>
    </div>
  );
}

/** The receiver says that nobody will take these webhooks any more. */
function Gone() {
  return (
    <p role="status" className="rounded-lg bg-bad-soft px-3 py-2 text-bad">
      The receiver answered ten webhooks in a row with 410 Gone. Retries go on: change the URL if the receiver has
      moved, or delete the endpoint.
    </p>
  );
}

/** A warning about the endpoint's secret, which the record of the endpoint does not have. */
function SignsAlone() {
  return (
    <p role="status" className="rounded-lg bg-warn-soft px-3 py-2 text-warn">
      X-Signature alone signs: the secret makes no signature of Standard Webhooks. If it begins with whsec_, what
      follows is not base64 of 24 to 64 bytes: rotate it, or set another.
    </p>
  );
}

function Figure({ title, value }: { title: string; value: string }) {
  return (
    <div className="bg-raised p-3">
      <p className="text-xs text-soft">{title}</p>
      <p className="text-lg font-semibold tabular-nums">{value}</p>
    </div>
  );
}

function Subscribed({ endpoint: { events } }: { endpoint: Webhook }) {
  if (events.includes("*")) return "every type";
  return (
    <span className="flex flex-wrap gap-1">
      {events.map((type) => (
        <Badge key={type}>
          <span className="font-mono">{type}</span>
        </Badge>
      ))}
    </span>
  );
}
