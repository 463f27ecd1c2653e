/** One row of the Wire in one line: milliseconds, direction, status, subject, why, and the record it is about. */

import { formatShift, realTime } from "../../sdk/wire-clock.ts";
import type { WireRow } from "../../sdk/wire-rows.ts";
import { numberInApiPath, shortenId } from "../parts/addresses.ts";
import { NameOnly } from "../parts/contact-name.tsx";
import { formatClock, formatExact, formatMs } from "../parts/formats.ts";
import { Icon, type IconName } from "../parts/icons.tsx";
import { Countdown } from "../parts/time.tsx";

const DIRECTIONS: Record<WireRow["direction"], { icon: IconName | null; name: string }> = {
  in: { icon: "arrowDownLeft", name: "came in" },
  inside: { icon: null, name: "inside" },
  out: { icon: "arrowUpRight", name: "went out" },
};

/** An arrow for what came in or went out, a dot for what happened inside. */
export function Direction({ direction }: { direction: WireRow["direction"] }) {
  const { icon, name } = DIRECTIONS[direction];
  return (
    <span title={name} className="flex w-4 shrink-0 justify-center text-faint">
      {icon === null ? (
        <span aria-hidden="true" className="size-1 rounded-full bg-current" />
      ) : (
        <Icon name={icon} size={14} />
      )}
      <span className="sr-only">{name}</span>
    </span>
  );
}

/** The colour of a row's status: red only for what failed for good. */
export function colourOf({ tone, kind }: WireRow): string {
  if (tone === "bad") return "text-bad";
  if (tone === "warn") return "text-warn";
  return kind === "attempt" || kind === "request" ? "text-good" : "text-soft";
}

/** The status in a word; the countdown of a retry. */
export function RowStatus({ row }: { row: WireRow }) {
  if (row.kind === "retry") return <Countdown until={new Date(row.at).toISOString()} done="due" />;
  return row.status ?? row.kind;
}

const STATES = {
  cursor: "bg-accent-soft shadow-[inset_2px_0_0_var(--accent)]",
  related: "bg-hover shadow-[inset_2px_0_0_var(--strong-line)]",
};

interface WireLineProps {
  id: string;
  row: WireRow;
  start: number;
  /** `related`: the row under the cursor led to it, or came from it. */
  state: "cursor" | "related" | null;
  /** How the clock was set before this row; null if it was not. */
  clockSet: string | null;
  onOpen: () => void;
}

/** The line. */
export function WireLine({ id, row, start, state, clockSet, onOpen }: WireLineProps) {
  const { at, shiftMs, sinceMs, direction, title, detail, ids, kind } = row;
  const real = realTime(row);
  const number = kind === "request" ? numberInApiPath(title) : null;
  const about = ids.message ?? ids.event ?? ids.request;
  return (
    <div
      id={id}
      role="option"
      aria-selected={state === "cursor"}
      tabIndex={-1}
      onClick={onOpen}
      onKeyDown={undefined}
      className={`absolute inset-x-0 flex h-7 cursor-pointer items-center gap-2 border-b px-3 whitespace-nowrap @xl:gap-3 @xl:px-4 ${state === null ? "hover:bg-hover" : STATES[state]}`}
      style={{ transform: `translateY(${start}px)` }}
    >
      {clockSet !== null && (
        <span className="absolute inset-x-0 -top-px border-t border-warn">
          <span className="absolute -top-2 right-3 rounded-full bg-warn-soft px-2 text-[11px] leading-4 text-warn">
            {clockSet}
          </span>
        </span>
      )}
      <time
        dateTime={new Date(real).toISOString()}
        title={formatExact(real)}
        className="w-24 shrink-0 text-faint tabular-nums @max-2xl:hidden"
      >
        {formatClock(real)}
      </time>
      <span className="w-14 shrink-0 text-right text-faint tabular-nums @xl:w-16">
        {sinceMs === null ? "" : `+${formatMs(sinceMs)}`}
      </span>
      <Direction direction={direction} />
      <span className={`w-18 shrink-0 truncate tabular-nums @xl:w-24 ${colourOf(row)}`}>
        <RowStatus row={row} />
      </span>
      {shiftMs > 0 && (
        <span
          title={`By the sandbox's clock: ${formatExact(at)}`}
          className="shrink-0 rounded-sm bg-warn-soft px-1 text-warn"
        >
          +{formatShift(shiftMs)}
        </span>
      )}
      <span className={`min-w-0 shrink truncate ${kind === "request" ? "font-semibold" : ""}`}>{title}</span>
      {number !== null && <NameOnly address={number} />}
      <span className="min-w-0 flex-1 shrink-[3] truncate text-faint @max-md:hidden">{detail}</span>
      {about !== undefined && <span className="shrink-0 text-faint @max-3xl:hidden">{shortenId(about)}</span>}
    </div>
  );
}
