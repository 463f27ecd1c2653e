/** The columns of endpoints: the state of each, and how it does. */

import { EVENT_TYPES, type Webhook } from "../../../sdk/wire.ts";
import { useDeliveries } from "../../api/deliveries.ts";
import { Badge, type Tone } from "../../parts/badge.tsx";
import type { Column } from "../../parts/data-table.tsx";
import { formatMs, formatShare } from "../../parts/formats.ts";
import { type EndpointState, type EndpointStats, stateOf, statsOf } from "./endpoint-stats.ts";
import { Sparkline } from "./sparkline.tsx";

const TONES: Record<EndpointState, Tone> = {
  paused: "neutral",
  gone: "bad",
  idle: "neutral",
  delivering: "good",
  retrying: "warn",
  undelivered: "bad",
};

/** The figures of an endpoint's newest deliveries. Every cell of a row reads the same query. */
function useStats(webhookId: string): EndpointStats {
  return statsOf(useDeliveries({ webhookId }).data?.deliveries ?? []);
}

/** The state of an endpoint as a badge. */
export function EndpointBadge({ endpoint }: { endpoint: Webhook }) {
  const stats = useStats(endpoint.id);
  const state = stateOf(endpoint, stats);
  return <Badge tone={TONES[state]}>{state === "undelivered" ? `${stats.lost.length} undelivered` : state}</Badge>;
}

function Success({ id }: { id: string }) {
  const { succeeded, attempts } = useStats(id);
  return <span className="tabular-nums">{formatShare(succeeded, attempts)}</span>;
}

function Slowest({ id }: { id: string }) {
  const { p95Ms } = useStats(id);
  return <span className="text-soft tabular-nums">{p95Ms === null ? "–" : formatMs(p95Ms)}</span>;
}

function Bars({ id }: { id: string }) {
  return (
    <span className="flex items-center">
      <Sparkline bars={useStats(id).bars} />
    </span>
  );
}

/** An endpoint's name; its URL without one. */
export function nameOf({ name, url }: Webhook): string {
  return name ?? url.replace(/^https?:\/\//, "");
}

/** The columns. */
export const COLUMNS: readonly Column<Webhook>[] = [
  { id: "state", header: "State", width: "112px", cell: (endpoint) => <EndpointBadge endpoint={endpoint} /> },
  {
    id: "endpoint",
    header: "Endpoint",
    width: "minmax(0, 1fr)",
    cell: (endpoint) => (
      <>
        <span className="font-medium">{nameOf(endpoint)}</span>
        {endpoint.name !== null && <span className="ml-2 font-mono text-xs text-faint">{endpoint.url}</span>}
      </>
    ),
  },
  {
    id: "events",
    header: "Events",
    width: "72px",
    from: 900,
    cell: ({ events }) => (
      <span className="text-soft">{events.includes("*") ? "all" : `${events.length} of ${EVENT_TYPES.length}`}</span>
    ),
  },
  { id: "bars", header: "Newest deliveries", width: "160px", from: 620, cell: ({ id }) => <Bars id={id} /> },
  { id: "success", header: "Success", width: "64px", align: "right", cell: ({ id }) => <Success id={id} /> },
  { id: "p95", header: "p95", width: "60px", align: "right", from: 480, cell: ({ id }) => <Slowest id={id} /> },
];
