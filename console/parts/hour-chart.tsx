/** A chart of values by the hour as stacked bars, in the colours of the theme, with its numbers as a table for who listens. */

import { formatCount } from "./formats.ts";
import { describe, type HourPoint, partsOf, topOf } from "./hour-bars.ts";

/** The values of one name. */
export interface HourSeries {
  name: string;
  /** Classes of its bars, and of its dot in the legend. */
  fill: string;
  dot: string;
}

interface HourChartProps {
  label: string;
  series: readonly HourSeries[];
  points: readonly HourPoint[];
}

const STEP = 10;
const BAR = 7;
const HEIGHT = 100;
const LABEL_EVERY = 6;

function hourOf(at: string): string {
  return `${String(new Date(at).getHours()).padStart(2, "0")}:00`;
}

/** The chart. */
export function HourChart({ label, series, points }: HourChartProps) {
  const top = topOf(points);
  const names = series.map(({ name }) => name);
  return (
    <figure>
      <figcaption className="flex flex-wrap items-center gap-x-4 gap-y-1 text-xs text-soft">
        <span className="min-w-0 flex-1 font-medium text-text">{label}</span>
        {series.map(({ name, dot }) => (
          <span key={name} className="flex items-center gap-1.5">
            <span aria-hidden="true" className={`size-2 rounded-sm ${dot}`} />
            {name}
          </span>
        ))}
      </figcaption>
      <div className="relative mt-2">
        <span aria-hidden="true" className="absolute top-0 left-0 text-[11px] leading-4 text-faint tabular-nums">
          {formatCount(top)}
        </span>
        <svg
          role="img"
          aria-label={`${label}. ${describe(names, points)}`}
          className="block h-24 w-full border-y border-line"
          viewBox={`0 0 ${Math.max(1, points.length) * STEP} ${HEIGHT}`}
          preserveAspectRatio="none"
        >
          {points.map((point, index) => (
            <g key={point.at}>
              <title>{`${hourOf(point.at)}  ${names.map((name, at) => `${name}: ${point.values[at] ?? 0}`).join(", ")}`}</title>
              <rect x={index * STEP} y={0} width={STEP} height={HEIGHT} className="fill-transparent" />
              {partsOf(point, top).map(({ from, height }, at) => (
                <rect
                  key={names[at]}
                  x={index * STEP + (STEP - BAR) / 2}
                  y={HEIGHT * (1 - from - height)}
                  width={BAR}
                  height={HEIGHT * height}
                  className={series[at]?.fill ?? ""}
                />
              ))}
            </g>
          ))}
        </svg>
      </div>
      <div aria-hidden="true" className="mt-1 flex text-[11px] leading-4 text-faint tabular-nums">
        {points.map(({ at }, index) =>
          index % LABEL_EVERY === 0 ? (
            <span key={at} className="flex-1">
              {hourOf(at)}
            </span>
          ) : null,
        )}
      </div>
      <HourTable label={label} names={names} points={points} />
    </figure>
  );
}

function HourTable({
  label,
  names,
  points,
}: {
  label: string;
  names: readonly string[];
  points: readonly HourPoint[];
}) {
  const busy = points.filter(({ values }) => values.some((value) => value > 0));
  return (
    <div className="sr-only">
      <table>
        <caption>{`${label}: hours with any`}</caption>
        <thead>
          <tr>
            <th scope="col">Hour</th>
            {names.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {busy.map(({ at, values }) => (
            <tr key={at}>
              <th scope="row">{hourOf(at)}</th>
              {names.map((name, index) => (
                <td key={name}>{values[index] ?? 0}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
