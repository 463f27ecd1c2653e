/** The sandbox's clock: its time, the moves forward, and the way back. */

import { useState } from "react";
import { isMoved, useClock, useMoveClock } from "../../api/sandbox.ts";
import { Button } from "../../parts/button.tsx";
import { CodeBlock } from "../../parts/code-block.tsx";
import { Panel } from "../../parts/fields.tsx";
import { FIELD_LOOK, Field, Form, IN_ROW } from "../../parts/form.tsx";
import { formatExact, formatMs } from "../../parts/formats.ts";
import { quote, snippetsOf } from "../../parts/snippets.ts";
import { useNow } from "../../parts/time.tsx";
import { toast, toastError } from "../../parts/toasts.tsx";

const STEPS = [
  ["1m", "1 minute"],
  ["1h", "1 hour"],
  ["1d", "1 day"],
] as const;

/** The sandbox's clock: what is due by then happens at once. */
export function ClockPanel() {
  const clock = useClock();
  const move = useMoveClock();
  const [by, setBy] = useState("2h");
  const offsetMs = clock.data?.offsetMs ?? 0;
  const run = (step: string | null, onError: (error: unknown) => void = toastError) =>
    move.mutate(step, {
      onSuccess: () => toast(step === null ? "The clock shows real time again." : `The clock is ${step} further.`),
      onError,
    });
  const call = {
    method: "POST",
    path: "/v1/sandbox/clock",
    body: { advance: by.trim() },
    typescript: `tightbeam.sandbox.clock.advance(${JSON.stringify(by.trim())})`,
    cli: `sandbox clock advance ${quote(by.trim())}`,
  };
  return (
    <Panel
      title="Clock of the sandbox"
      aside={
        !isMoved(offsetMs) ? undefined : (
          <Button disabled={move.isPending} onClick={() => run(null)}>
            Reset to real time
          </Button>
        )
      }
    >
      <div className="flex flex-col gap-3 p-4">
        <Now offsetMs={offsetMs} />
        <div className="flex flex-wrap gap-2">
          {STEPS.map(([step, words]) => (
            <Button key={step} icon="clock" disabled={move.isPending} onClick={() => run(step)}>
              +{words}
            </Button>
          ))}
          <Form onSubmit={(refuse) => run(by.trim(), refuse)} className="flex min-w-0 flex-wrap gap-2">
            <Field name="advance" label="Duration to move by, such as 30s or 2h" isLabelHidden className={IN_ROW}>
              {(field) => (
                <input
                  {...field}
                  className={`h-7 w-20 px-2 tabular-nums ${FIELD_LOOK}`}
                  value={by}
                  onChange={(event) => setBy(event.target.value)}
                />
              )}
            </Field>
            <Button type="submit" disabled={move.isPending}>
              Move
            </Button>
          </Form>
        </div>
        <CodeBlock label="The move as code" snippets={snippetsOf(call, location.origin)} />
      </div>
    </Panel>
  );
}

function Now({ offsetMs }: { offsetMs: number }) {
  const now = useNow();
  return (
    <p>
      <span className="font-medium tabular-nums">{formatExact(now).slice(0, 19)}</span>{" "}
      <span className={!isMoved(offsetMs) ? "text-faint" : "text-warn"}>
        {!isMoved(offsetMs) ? "real time" : `${formatMs(offsetMs)} ahead of real time`}
      </span>
      <span className="block text-soft">
        What is due by the new time, such as retries and schedules, happens at once.
      </span>
    </p>
  );
}
