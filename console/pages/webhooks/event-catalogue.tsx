/** The types of events: the sentence, an example and the fields of each, and the way to make one happen. */

import type { AnyEvent } from "../../../sdk/wire.ts";
import { type EventEntry, stepsOf, useCatalogue, useTrigger } from "../../api/catalogue.ts";
import { useConnected } from "../../api/context.ts";
import { useDeliveries } from "../../api/deliveries.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { CopyButton } from "../../parts/copy.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { DeliveryLines } from "../../parts/delivery-line.tsx";
import { Failed, Loading } from "../../parts/empty.tsx";
import { Panel } from "../../parts/fields.tsx";
import { InlineCode } from "../../parts/inline-code.tsx";
import { useKeys } from "../../parts/keys.ts";
import { RecordLink } from "../../parts/record-link.tsx";
import { DetailHead, Split } from "../../parts/split.tsx";
import { toastError } from "../../parts/toasts.tsx";

const COLUMNS: readonly Column<EventEntry>[] = [
  {
    id: "type",
    header: "Event",
    width: "minmax(0, 230px)",
    cell: ({ type }) => <span className="font-mono text-xs">{type}</span>,
  },
  {
    id: "summary",
    header: "When",
    from: 480,
    width: "minmax(0, 1fr)",
    cell: ({ summary }) => (
      <span className="text-soft">
        <InlineCode text={summary} />
      </span>
    ),
  },
];

/** The part of `/webhooks/events` and `/webhooks/events/:type`. */
export function EventCatalogue({ id }: { id: string | null }) {
  const found = useCatalogue();
  if (found.isPending) return <Loading />;
  if (found.data === undefined) return <Failed error={found.error} onRetry={() => void found.refetch()} />;
  const entries = found.data;
  const open = entries.find(({ type }) => type === id);
  return (
    <Split
      one="event type"
      many="event types"
      id={open?.type ?? null}
      listPath="/webhooks/events"
      pathOf={(type) => `/webhooks/events/${type}`}
      list={(onOpen) => (
        <DataTable
          label="Event types"
          rows={entries}
          columns={COLUMNS}
          rowId={({ type }) => type}
          openId={open?.type ?? null}
          onOpen={({ type }) => onOpen(type)}
        />
      )}
      detail={(_type, onClose) => open !== undefined && <EventTypeDetail entry={open} onClose={onClose} />}
    />
  );
}

function EventTypeDetail({ entry, onClose }: { entry: EventEntry; onClose: () => void }) {
  const { session } = useConnected();
  // Its ids name no records, so that it is not shown as JSON with links.
  const example = JSON.stringify(entry.example, null, 2);
  return (
    <>
      <DetailHead
        line={<h2 className="min-w-0 flex-1 truncate font-mono text-base font-semibold">{entry.type}</h2>}
        onClose={onClose}
      >
        <p className="text-soft">
          <InlineCode text={entry.summary} />
        </p>
      </DetailHead>
      <div className="flex flex-col gap-4 p-4">
        {session.isSandbox && <TriggerPanel entry={entry} />}
        <Panel title="Example" aside={<CopyButton text={example} label="Copy the example" />}>
          <pre
            tabIndex={0}
            className="overflow-x-auto p-3 font-mono text-xs leading-5 outline-offset-[-2px] scroll-thin"
          >
            {example}
          </pre>
        </Panel>
        <Panel title="Fields of data">
          <dl>
            {entry.fields.map(({ name, description, isRequired }) => (
              <div
                key={name}
                className="grid gap-x-3 border-t px-4 py-1.5 first:border-t-0 sm:grid-cols-[11rem_minmax(0,1fr)]"
              >
                <dt className="flex items-baseline gap-2">
                  <code className="font-mono text-xs">{name}</code>
                  {!isRequired && <span className="text-xs text-faint">optional</span>}
                </dt>
                <dd className="text-soft">
                  <InlineCode text={description} />
                </dd>
              </div>
            ))}
          </dl>
        </Panel>
      </div>
    </>
  );
}

/** Makes the event happen, and shows it with its deliveries. */
function TriggerPanel({ entry: { type } }: { entry: EventEntry }) {
  const trigger = useTrigger(type);
  const run = () => trigger.mutate(undefined, { onError: toastError });
  useKeys([{ key: "t", label: "Trigger the event", run }]);
  return (
    <Panel
      title="Trigger"
      aside={
        <Button tone="primary" icon="play" hint="t" disabled={trigger.isPending} onClick={run}>
          {trigger.isPending ? "Triggering…" : "Trigger"}
        </Button>
      }
    >
      <p className="px-4 py-2 text-soft">The sandbox's steps: {stepsOf(type)}.</p>
      {trigger.data === null && <p className="border-t px-4 py-2 text-warn">The event did not come within 30 s.</p>}
      {trigger.data != null && <Triggered event={trigger.data} />}
    </Panel>
  );
}

function Triggered({ event }: { event: AnyEvent }) {
  const deliveries = useDeliveries({ eventId: event.id });
  const found = deliveries.data?.deliveries ?? [];
  return (
    <div role="status">
      <p className="flex items-center gap-2 border-t px-4 py-2">
        <Badge tone="good">happened</Badge>
        <RecordLink id={event.id} />
        {found.length === 0 && <span className="text-soft">No endpoint subscribes to it.</span>}
      </p>
      {found.length > 0 && (
        <div className="border-t">
          <DeliveryLines deliveries={found} by="receiver" />
        </div>
      )}
    </div>
  );
}
