/** Times on the screen: how long ago, with the exact time on hover, and what runs out. One timer serves them all. */

import { useSyncExternalStore } from "react";
import { clockSkewMs } from "../api/clock-skew.ts";
import { formatAgo, formatCountdown, formatExact } from "./formats.ts";

const TICK_MS = 1_000;

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let now = Date.now();
let offsetMs = 0;

function tick(): void {
  now = Date.now();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(tick, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Sets how far the sandbox's clock is ahead of real time: times are told by the service's clock. */
export function setClockOffset(ahead: number): void {
  if (Math.abs(ahead - offsetMs) < TICK_MS) return;
  offsetMs = ahead;
  tick();
}

/** The service's time now, outside of a component. */
export function serviceNow(): number {
  return Date.now() + clockSkewMs() + offsetMs;
}

/** Real time, which ends keys and sessions: the sandbox's clock does not move it. */
export function realNow(): number {
  return Date.now();
}

/** The last tick; the present if nothing has ticked for a while. */
function lastTick(): number {
  if (timer === undefined && Date.now() - now > TICK_MS) now = Date.now();
  return now;
}

/** The service's time, in steps of a second. */
export function useNow(): number {
  return useRealNow() + offsetMs;
}

/** The real time of the service, in steps of a second: for what the sandbox's clock does not move. */
export function useRealNow(): number {
  return useSyncExternalStore(subscribe, lastTick) + clockSkewMs();
}

const HOUR_MS = 3_600_000;

/** The hour of the service's time, counted from 1970: for a component that changes once an hour. */
export function useHour(): number {
  return useSyncExternalStore(subscribe, () => Math.floor((lastTick() + clockSkewMs() + offsetMs) / HOUR_MS));
}

interface TimeProps {
  at: string;
  /** Whether it is real time, which the sandbox's clock does not move: of a session, or of a key's end. */
  isReal?: boolean;
  className?: string;
}

/** How long ago something was; the exact time on hover. */
export function Time({ at, isReal = false, className = "" }: TimeProps) {
  const present = useNow() - (isReal ? offsetMs : 0);
  const instant = Date.parse(at);
  return (
    <time dateTime={at} title={formatExact(instant)} className={`whitespace-nowrap tabular-nums ${className}`}>
      {formatAgo(instant, present)}
    </time>
  );
}

/** The time until something; `done` once it has passed. */
export function Countdown({ until, done = "now" }: { until: string; done?: string }) {
  const present = useNow();
  const instant = Date.parse(until);
  const remainingMs = instant - present;
  return (
    <time dateTime={until} title={formatExact(instant)} className="whitespace-nowrap tabular-nums">
      {remainingMs > 0 ? formatCountdown(remainingMs) : done}
    </time>
  );
}
