/** The figures of the last day: messages by outcome, webhooks, what waits, and what is ill. */

import { Link } from "wouter";
import type { Message, UsagePoint } from "../../../sdk/wire.ts";
import { useConnected } from "../../api/context.ts";
import { useDeliveries } from "../../api/deliveries.ts";
import { messageSource } from "../../api/messages.ts";
import { useFirstPage } from "../../api/pages.ts";
import { isMoved, useClock } from "../../api/sandbox.ts";
import { useEndpoints, useHealth, useNumbers, useUsage } from "../../api/service.ts";
import { StatusBadge } from "../../parts/badge.tsx";
import { Panel } from "../../parts/fields.tsx";
import { formatCount, formatMs, formatShare, quantile } from "../../parts/formats.ts";
import { countByHour, type HourPoint } from "../../parts/hour-bars.ts";
import { HourChart, type HourSeries } from "../../parts/hour-chart.tsx";
import { useHour } from "../../parts/time.tsx";
import { failingEndpoints } from "./failing-endpoints.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** The last 24 hours to the end of this one, so that the query is the same for an hour. */
function useLastDay(): { from: string; to: string } {
  const end = (useHour() + 1) * HOUR_MS;
  return { from: new Date(end - DAY_MS).toISOString(), to: new Date(end).toISOString() };
}

/** The figures. */
export function Figures() {
  const day = useLastDay();
  const usage = useUsage({ ...day, granularity: "hour" });
  const failed = useFirstPage(messageSource({ status: "failed", createdAfter: day.from })).data;
  const queued = useFirstPage(messageSource({ status: "queued" })).data;
  const pending = useDeliveries({ status: "pending" }).data;
  const totals = usage.data?.totals;
  const series = usage.data?.series ?? [];
  return (
    <>
      <h2 className="-mb-2 font-semibold">Last 24 hours</h2>
      <section
        aria-label="Last 24 hours"
        className="grid grid-cols-2 gap-px overflow-hidden rounded-xl border bg-line md:grid-cols-5"
      >
        <Figure title="Sent" value={totals?.messagesSent} href="/messages?q=direction%3Aoutbound+since%3A24h" />
        <Figure title="Received" value={totals?.messagesReceived} href="/messages?q=direction%3Ainbound+since%3A24h" />
        <Figure
          title="Failed"
          value={failed?.rows.length}
          isAtLeast={failed != null && failed.next !== null}
          isBad={(failed?.rows.length ?? 0) > 0}
          href="/messages?q=status%3Afailed+since%3A24h"
        />
        <Figure
          title="Messages queued"
          value={queued?.rows.length}
          isAtLeast={queued != null && queued.next !== null}
          href="/messages?q=status%3Aqueued"
        />
        <Figure
          title="Deliveries waiting"
          value={pending?.deliveries.length}
          isAtLeast={pending?.pagination.hasMore ?? false}
          href="/webhooks/deliveries?q=status%3Apending"
        />
        <div className="col-span-full bg-raised p-4">
          <HourChart
            label={failed != null && failed.next !== null ? "Messages (the newest 50 failures)" : "Messages"}
            series={OUTCOMES}
            points={messagePoints(series, failed?.rows ?? [])}
          />
        </div>
      </section>
      <div className="grid grid-cols-1 gap-4 md:grid-cols-2">
        <Webhooks series={series} />
        <Condition />
      </div>
    </>
  );
}

const OUTCOMES: readonly HourSeries[] = [
  { name: "Sent", fill: "fill-accent", dot: "bg-accent" },
  { name: "Received", fill: "fill-good", dot: "bg-good" },
  { name: "Failed", fill: "fill-bad", dot: "bg-bad" },
];

const ANSWERS: readonly HourSeries[] = [
  { name: "2xx", fill: "fill-good", dot: "bg-good" },
  { name: "Not 2xx", fill: "fill-warn", dot: "bg-warn" },
];

function messagePoints(series: readonly UsagePoint[], failed: readonly Message[]): HourPoint[] {
  const failures = countByHour(
    series.map(({ at }) => at),
    failed.map(({ createdAt }) => createdAt),
  );
  return series.map(({ at, messagesSent, messagesReceived }, index) => ({
    at,
    values: [messagesSent, messagesReceived, failures[index] ?? 0],
  }));
}

interface FigureProps {
  title: string;
  value: number | undefined;
  /** Whether there are more than were counted. */
  isAtLeast?: boolean;
  isBad?: boolean;
  href: string;
}

function Figure({ title, value, isAtLeast = false, isBad = false, href }: FigureProps) {
  return (
    <Link
      href={href}
      className="flex flex-col gap-1 bg-raised p-4 outline-offset-[-2px] hover:bg-hover max-md:last-of-type:col-span-2"
    >
      <span className="text-soft">{title}</span>
      <span className={`text-xl font-semibold tabular-nums ${isBad ? "text-bad" : ""}`}>
        {value === undefined ? "–" : formatCount(value)}
        {isAtLeast && "+"}
      </span>
    </Link>
  );
}

/** The newest deliveries tell what the usage does not: how long attempts take, and which endpoints fail. */
function Webhooks({ series }: { series: readonly UsagePoint[] }) {
  const recent = useDeliveries({}).data?.deliveries ?? [];
  const endpoints = useEndpoints();
  const delivered = series.reduce((sum, point) => sum + point.webhooksDelivered, 0);
  const failed = series.reduce((sum, point) => sum + point.webhooksFailed, 0);
  const p95 = quantile(
    recent.flatMap(({ attempts }) => attempts.map(({ durationMs }) => durationMs)),
    0.95,
  );
  const points = series.map(({ at, webhooksDelivered, webhooksFailed }) => ({
    at,
    values: [webhooksDelivered, webhooksFailed],
  }));
  return (
    <Panel title="Webhooks">
      <dl className="grid grid-cols-4 gap-4 p-4">
        <Small title="2xx" value={formatShare(delivered, delivered + failed)} />
        <Small title="p95" value={p95 === null ? "–" : formatMs(p95)} />
        <Small title="Attempts" value={formatCount(delivered + failed)} />
        <Small title="Endpoints" value={endpoints.data === undefined ? "–" : String(endpoints.data.length)} />
      </dl>
      <div className="px-4 pb-4">
        <HourChart label="Attempts" series={ANSWERS} points={points} />
      </div>
      {failingEndpoints(recent).map(({ url, path, lost, retrying }) => (
        <Link key={url} href={path} className="flex items-center gap-2 border-t px-4 py-2 hover:bg-hover">
          <span aria-hidden="true" className={`size-1.5 rounded-full ${lost > 0 ? "bg-bad" : "bg-warn"}`} />
          <span className="min-w-0 flex-1 truncate font-mono text-xs">{url}</span>
          <span className={`text-xs ${lost > 0 ? "text-bad" : "text-warn"}`}>
            {lost > 0 ? `${lost} given up` : `${retrying} retrying`}
          </span>
        </Link>
      ))}
    </Panel>
  );
}

function Small({ title, value }: { title: string; value: string }) {
  return (
    <div>
      <dt className="text-xs text-soft">{title}</dt>
      <dd className="text-lg font-semibold tabular-nums">{value}</dd>
    </div>
  );
}

/** The health of the service and of the customer's numbers. */
function Condition() {
  const { session } = useConnected();
  const health = useHealth();
  const numbers = useNumbers();
  return (
    <Panel title="Service" aside={health.data !== undefined && <StatusBadge status={health.data.status} />}>
      <ul className="py-1">
        {numbers.data?.map(({ phoneNumber, email, instanceName, healthStatus, isDefault }) => (
          <li key={phoneNumber ?? email} className="flex items-center gap-3 px-4 py-1.5">
            <span className="tabular-nums">{phoneNumber ?? email}</span>
            <span className="min-w-0 flex-1 truncate text-soft">
              {instanceName}
              {isDefault && " · default"}
            </span>
            <StatusBadge status={healthStatus} />
          </li>
        ))}
        {Object.entries(health.data?.checks ?? {}).flatMap(([name, { status, message }]) =>
          status === "ok" ? (
            []
          ) : (
            <li key={name} className="flex items-baseline gap-3 border-t px-4 py-1.5">
              <span className="font-medium">{name}</span>
              <span className="text-bad">{message ?? status}</span>
            </li>
          ),
        )}
        {session.isSandbox && <ClockLine />}
      </ul>
    </Panel>
  );
}

function ClockLine() {
  const offsetMs = useClock().data?.offsetMs ?? 0;
  return (
    <li className="flex items-center gap-3 border-t px-4 py-1.5">
      <span className="flex-1">Clock of the sandbox</span>
      <Link
        href="/settings/service"
        className={`rounded hover:underline ${!isMoved(offsetMs) ? "text-soft" : "text-warn"}`}
      >
        {!isMoved(offsetMs) ? "real time" : `${formatMs(offsetMs)} ahead`}
      </Link>
    </li>
  );
}
