/** The band that says that nothing here reaches a real phone, with the sandbox's clock if it was moved. */

import { useEffect } from "react";
import { useConnected } from "../api/context.ts";
import { isMoved, useClock, useMoveClock } from "../api/sandbox.ts";
import { formatClock, formatMs } from "../parts/formats.ts";
import { setClockOffset, useNow } from "../parts/time.tsx";
import { toast, toastError } from "../parts/toasts.tsx";

/** The band; nothing outside of a sandbox. */
export function SandboxBand() {
  const { session } = useConnected();
  const clock = useClock();
  const offsetMs = clock.data?.offsetMs ?? 0;
  useEffect(() => {
    if (clock.data !== undefined) setClockOffset(clock.data.offsetMs);
  }, [clock.data]);
  if (!session.isSandbox) return null;
  return (
    <aside
      aria-label="Environment"
      className="flex h-7 shrink-0 items-center justify-center gap-3 border-b border-warn/20 bg-warn-soft px-3 text-xs text-warn"
    >
      <strong className="font-semibold tracking-wider">SANDBOX</strong>
      {!isMoved(offsetMs) ? (
        <span className="truncate max-sm:hidden">Messages reach simulated phones only</span>
      ) : (
        <MovedClock offsetMs={offsetMs} />
      )}
    </aside>
  );
}

function MovedClock({ offsetMs }: { offsetMs: number }) {
  const now = useNow();
  const move = useMoveClock();
  const reset = () =>
    move.mutate(null, { onSuccess: () => toast("The clock shows real time again."), onError: toastError });
  return (
    <>
      <span className="truncate tabular-nums">
        Clock {formatMs(offsetMs)} ahead: {formatClock(now).slice(0, 8)}
      </span>
      <button type="button" className="font-medium underline underline-offset-2" onClick={reset}>
        Reset
      </button>
    </>
  );
}
