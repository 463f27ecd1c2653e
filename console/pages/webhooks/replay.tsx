/** Delivers stored events again: since when, how many there are, and how far it is. */

import { useMemo, useState } from "react";
import { Link } from "wouter";
import { EVENT_TYPES, type EventType, type Webhook } from "../../../sdk/wire.ts";
import { useEventCount, useReplay, useWaitingCount } from "../../api/webhooks.ts";
import { Button, buttonClass } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { FIELD, Field, Form } from "../../parts/form.tsx";
import { formatCount } from "../../parts/formats.ts";
import { instantOf } from "../../parts/search-terms.ts";
import { serviceNow } from "../../parts/time.tsx";

interface ReplayDialogProps {
  endpoint: Webhook;
  open: boolean;
  onClose: () => void;
}

/** The dialog. */
export function ReplayDialog({ endpoint, open, onClose }: ReplayDialogProps) {
  const [replayed, setReplayed] = useState<number | null>(null);
  const close = () => {
    setReplayed(null);
    onClose();
  };
  return (
    <Dialog open={open} onClose={close} title="Replay events">
      {replayed === null ? (
        <ReplayForm endpoint={endpoint} onReplayed={setReplayed} />
      ) : (
        <Progress endpoint={endpoint} total={replayed} onClose={close} />
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
  onReplayed: (deliveries: number) => void;
}

function ReplayForm({ endpoint, onReplayed }: ReplayFormProps) {
  const replay = useReplay(endpoint.id);
  const [text, setText] = useState("1h");
  const [type, setType] = useState<EventType | "">("");
  // `1h` is an hour before it was typed, so that the count is of what is replayed.
  const since = useMemo(() => instantOf(text.trim(), serviceNow()), [text]);
  const offered = replayedTypes(endpoint);
  const counted = useEventCount(since, type === "" ? offered : [type]);
  const run = (refuse: (error: unknown) => void) => {
    if (since === undefined) return;
    replay.mutate(
      { since, ...(type === "" ? {} : { types: [type] }) },
      { onSuccess: ({ deliveries }) => onReplayed(deliveries), onError: refuse },
    );
  };
  const count = counted.data === undefined ? null : formatCount(counted.data.count);
  return (
    <Form onSubmit={run} className="flex flex-col gap-3">
      <p>
        Each stored event of the period that the endpoint subscribes to gets a new delivery. Ids stay, so that your
        receiver can skip what it knows.
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

/** How many of the new deliveries have had their first attempt. */
function Progress({ endpoint, total, onClose }: { endpoint: Webhook; total: number; onClose: () => void }) {
  const waiting = useWaitingCount(endpoint.id, total > 0);
  const left = Math.min(total, waiting.data?.count ?? total);
  const isAtLeast = waiting.data?.isAtLeast ?? false;
  const done = total - left;
  return (
    <div className="flex flex-col gap-3">
      <p role="status">
        {isAtLeast
          ? `${formatCount(total)} deliveries were created. More than ${formatCount(left)} wait for their first attempt.`
          : `${formatCount(done)} of ${formatCount(total)} deliveries had their first attempt.`}
      </p>
      <div
        role="progressbar"
        aria-label="Replayed deliveries"
        aria-valuenow={done}
        aria-valuemin={0}
        aria-valuemax={total}
        className="h-1.5 overflow-hidden rounded-full bg-hover"
      >
        <div
          className="h-full rounded-full bg-accent"
          style={{ width: `${total === 0 ? 100 : (100 * done) / total}%` }}
        />
      </div>
      <div className="flex justify-end gap-2">
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
