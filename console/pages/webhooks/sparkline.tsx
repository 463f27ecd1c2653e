/** The newest deliveries of an endpoint as bars: as high as they took long, red where one was given up. */

import type { DeliveryBar } from "./endpoint-stats.ts";

const BAR = { width: 3, step: 4, height: 20, lowest: 3 };
const COLOURS: Record<DeliveryBar["result"], string> = {
  delivered: "fill-good",
  waiting: "fill-warn",
  lost: "fill-bad",
  cancelled: "fill-strong-line",
};
const WORDS: Record<DeliveryBar["result"], string> = {
  delivered: "delivered",
  waiting: "waiting",
  lost: "given up",
  cancelled: "cancelled",
};

/** How many bars have each result, in words. */
function describe(bars: readonly DeliveryBar[]): string {
  if (bars.length === 0) return "No deliveries yet";
  const counts = Map.groupBy(bars, ({ result }) => result);
  return `The newest deliveries: ${[...counts].map(([result, { length }]) => `${length} ${WORDS[result]}`).join(", ")}`;
}

/** The bars; the newest is at the right. */
export function Sparkline({ bars, max = 40 }: { bars: readonly DeliveryBar[]; max?: number }) {
  const shown = bars.slice(-max);
  const width = max * BAR.step;
  const start = width - shown.length * BAR.step;
  return (
    <svg
      role="img"
      aria-label={describe(shown)}
      className="max-w-full"
      width={width}
      height={BAR.height}
      viewBox={`0 0 ${width} ${BAR.height}`}
    >
      <line x1="0" x2={width} y1={BAR.height - 0.5} y2={BAR.height - 0.5} className="stroke-line" />
      {shown.map(({ id, height, result }, index) => {
        const tall = BAR.lowest + height * (BAR.height - BAR.lowest);
        return (
          <rect
            key={id}
            x={start + index * BAR.step}
            y={BAR.height - tall}
            width={BAR.width}
            height={tall}
            rx="1"
            className={COLOURS[result]}
          />
        );
      })}
    </svg>
  );
}
