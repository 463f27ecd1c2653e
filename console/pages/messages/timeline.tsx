/** The timeline of a message: a waterfall of its statuses and channels; bar and number say how long each lasted. */

import type { Message } from "../../../sdk/wire.ts";
import { toneOf } from "../../parts/badge.tsx";
import { counted, formatExact, formatMs } from "../../parts/formats.ts";
import { useNow } from "../../parts/time.tsx";
import { channelName } from "./columns.tsx";
import { type Step, stepsOf, totalMs } from "./waterfall.ts";

const BARS: Record<string, string> = {
  good: "bg-good",
  warn: "bg-warn",
  bad: "bg-bad",
  accent: "bg-accent",
  neutral: "bg-faint",
};

/** The waterfall. */
export function Timeline({ message }: { message: Message }) {
  const now = useNow();
  const steps = stepsOf(message, now);
  return (
    <div className="p-4">
      <div className="mb-2 flex justify-between text-xs text-faint tabular-nums">
        <span>{counted(steps.length, "step")}</span>
        <span>Time in each status: {formatMs(totalMs(steps))} in all</span>
      </div>
      <ol aria-label="Timeline" className="rounded-lg border">
        {steps.map((step, index) => (
          <StepRow
            key={`${step.entry.at} ${step.entry.channel} ${step.entry.status} ${step.entry.reason ?? ""}`}
            step={step}
            isFirst={index === 0}
          />
        ))}
      </ol>
    </div>
  );
}

function StepRow({ step, isFirst }: { step: Step; isFirst: boolean }) {
  const { entry, lastedMs, start, length, isNewHop } = step;
  const color = BARS[toneOf(entry.status)] ?? "bg-faint";
  const isPoint = lastedMs === null;
  return (
    <li className={`px-3 py-2 ${isFirst ? "" : "border-t"}`}>
      {isNewHop && (
        <div className="mb-1 text-xs font-medium text-accent">Next channel: {channelName(entry.channel)}</div>
      )}
      <div className="grid grid-cols-[6.5rem_minmax(0,1fr)_4.5rem] items-center gap-3">
        <span className="flex items-center gap-2 font-medium">
          <span aria-hidden="true" className={`size-1.5 rounded-full ${color}`} />
          {entry.status}
        </span>
        <span className="relative h-3 overflow-hidden rounded bg-hover">
          <span
            className={`absolute inset-y-0 rounded ${color} ${isPoint ? "w-1" : "opacity-80"}`}
            style={
              isPoint
                ? { left: `calc(${start * 100}% - ${start * 4}px)` }
                : { left: `${start * 100}%`, width: `max(3px, ${length * 100}%)` }
            }
          />
        </span>
        <time
          dateTime={entry.at}
          title={formatExact(Date.parse(entry.at))}
          className="text-right text-xs text-soft tabular-nums"
        >
          {lastedMs === null ? "–" : formatMs(lastedMs)}
        </time>
      </div>
      <div className="mt-0.5 pl-[7.25rem] text-xs text-soft max-sm:pl-3.5" title={entry.instanceId}>
        {entry.reason ?? channelName(entry.channel)}
      </div>
    </li>
  );
}
