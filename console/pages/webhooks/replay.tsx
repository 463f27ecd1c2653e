/** Delivers stored events again: since when, how many there are, how far it is, and its end. */

import { useMemo, useState } from "react";
import { Link } from "wouter";
import { EVENT_TYPES, type EventType, type Replay, type StartedReplay, type Webhook } from "../../../sdk/wire.ts";
import { useBeginReplay, useEventCount, useReplay, useStopReplay } from "../../api/webhooks.ts";
import { Button, buttonClass } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { FIELD, Field, Form } from "../../parts/form.tsx";
import { formatCount } from "../../parts/formats.ts";
import { instantOf } from "../../parts/search-terms.ts";
import { serviceNow } from "../../parts/time.tsx";

interface ReplayDialogProps {
  endpoint: Webhook;
  onClose: () => void;
}

/** The dialog: the replay that runs, or a form that begins one. */
export function ReplayDialog({ endpoint, onClose }: ReplayDialogProps) {
  const { data: last } = useReplay(endpoint.id);
  const [begunId, setBegunId] = useState<string | null>(null);
  // The replay may be read before the request that began it is answered: its end is shown all the same.
  if (last?.status === "running" && last.id !== begunId) setBegunId(last.id);
  const shown = last?.id === begunId ? last : null;
  return (
    <Dialog open onClose={onClose} title="Replay events">
      {last === undefined ? (
        <p role="status">Loading…</p>
      ) : begunId !== null ? (
        <Progress endpoint={endpoint} replay={shown} onClose={onClose} />
      ) : (
        <ReplayForm endpoint={endpoint} onBegun={({ id }) => setBegunId(id)} />
      )}
    </Dialog>
  );
}

/** Types that a replay can send to an endpoint: those that it subscribes to, but no tests. */
function replayedTypes({ events }: Webhook): EventType[] {
  return EVENT_TYPES.filter((type) => type !== "webhook.test" && (events.includes("*") || events.includes(type)));
}

interface ReplayFormProps {
  endpoint: Webhook;
  onBegun: (replay: StartedReplay) => void;
}

function ReplayForm({ endpoint, onBegun }: ReplayFormProps) {
  const replay = useBeginReplay(endpoint.id);
  const [onlyFailed, setOnlyFailed] = useState(false);
  const [text, setText] = useState("1h");
  const [type, setType] = useState<EventType | "">("");
  // `1h` is an hour before it was typed, so that the count is of what is replayed.
  const since = useMemo(() => instantOf(text.trim(), serviceNow()), [text]);
  const offered = replayedTypes(endpoint);
  const counted = useEventCount(since, type === "" ? offered : [type]);
  const run = (refuse: (error: unknown) => void) => {
    if (since === undefined) return;
    replay.mutate(
      { since, ...(type === "" ? {} : { types: [type] }), ...(onlyFailed ? { only: "failed" as const } : {}) },
      { onSuccess: onBegun, onError: refuse },
    );
  };
  const count = counted.data === undefined ? null : formatCount(counted.data.count);
  return (
    <Form onSubmit={run} className="flex flex-col gap-3">
      <p>
        The stored events of the period that the endpoint subscribes to are sent again, behind new ones. Their ids stay,
        so that your receiver can skip what it knows.
      </p>
      <Field name="since" label="Since">
        {(field) => (
          <input
            {...field}
            className={`${FIELD} font-mono text-xs`}
            value={text}
            onChange={(event) => setText(event.target.value)}
            placeholder="1h, 7d, or 2026-03-01T12:00:00Z"
          />
        )}
      </Field>
      <div className="flex gap-1">
        {["15m", "1h", "24h", "7d"].map((period) => (
          <Button key={period} tone="quiet" aria-pressed={text === period} onClick={() => setText(period)}>
            {period}
          </Button>
        ))}
      </div>
      <Field name="types" label="Type">
        {(field) => (
          <select
            {...field}
            className={FIELD}
            value={type}
            onChange={(event) => setType(event.target.value as EventType | "")}
          >
            <option value="">every type that the endpoint gets</option>
            {offered.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        )}
      </Field>
      <label className="flex items-center gap-2">
        <input
          type="checkbox"
          className="size-4 accent-[var(--accent-solid)]"
          checked={onlyFailed}
          onChange={() => setOnlyFailed(!onlyFailed)}
        />
        Only what the endpoint has not answered with 2xx, missed events included
      </label>
      <div className="flex items-center gap-2">
        <p role="status" className="flex-1 text-soft">
          {since === undefined
            ? "Write a duration such as 2h, or a date."
            : count === null
              ? "Counting…"
              : `${count}${counted.data?.isAtLeast === true ? " or more" : ""} stored ${count === "1" ? "event" : "events"}`}
        </p>
        <Button
          type="submit"
          tone="primary"
          icon="retry"
          disabled={since === undefined || replay.isPending || counted.data?.count === 0}
        >
          {replay.isPending ? "Replaying…" : "Replay"}
        </Button>
      </div>
    </Form>
  );
}

interface ProgressProps {
  endpoint: Webhook;
  replay: Replay | null;
  onClose: () => void;
}

/** How many deliveries of a replay have ended, and a button that stops it. */
function Progress({ endpoint, replay, onClose }: ProgressProps) {
  const stop = useStopReplay(endpoint.id);
  const { made = 0, succeeded = 0, failed = 0, status = "running", deliveries = null } = replay ?? {};
  const isRunning = status === "running";
  const total = isRunning ? Math.max(deliveries ?? 0, made) : made;
  const open = made - succeeded - failed;
  const facts = [
    `${formatCount(succeeded)} of ${formatCount(total)} succeeded`,
    ...(failed > 0 ? [`${formatCount(failed)} failed`] : []),
    ...(open > 0 ? [`${formatCount(open)} waiting or retried`] : []),
  ];
  return (
    <div className="flex flex-col gap-3">
      <p role="status">{`${status === "stopped" ? "Stopped. " : ""}${facts.join(", ")}.`}</p>
      <div
        role="progressbar"
        aria-label="Replayed deliveries"
        aria-valuenow={succeeded + failed}
        aria-valuemin={0}
        aria-valuemax={total}
        className="h-1.5 overflow-hidden rounded-full bg-hover"
      >
        <div
          className="h-full rounded-full bg-accent"
          style={{ width: `${total === 0 ? 100 : (100 * (succeeded + failed)) / total}%` }}
        />
      </div>
      <div className="flex justify-end gap-2">
        {isRunning && (
          <Button disabled={stop.isPending} onClick={() => stop.mutate(undefined)}>
            Stop it
          </Button>
        )}
        <Link href={`/webhooks/deliveries?q=webhook%3A${endpoint.id}`} className={buttonClass()}>
          Show them
        </Link>
        <Button tone="primary" onClick={onClose}>
          Close
        </Button>
      </div>
    </div>
  );
}
