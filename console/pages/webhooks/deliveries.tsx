/** The deliveries: the list with its chips, and one delivery beside it. */

import { useLocation } from "wouter";
import type { Delivery } from "../../../sdk/wire.ts";
import { deliverySource, useDelivery } from "../../api/deliveries.ts";
import { StatusBadge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import type { Column } from "../../parts/data-table.tsx";
import { DeliveryDetail } from "../../parts/delivery-detail.tsx";
import { AttemptBadge } from "../../parts/delivery-line.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Read } from "../../parts/read.tsx";
import { type SearchableList, SearchList } from "../../parts/search-list.tsx";
import { DetailHead, Split } from "../../parts/split.tsx";
import { Countdown, Time } from "../../parts/time.tsx";
import { DELIVERY_FIELDS, deliveryQueryOf, SAVED_DELIVERY_SEARCHES } from "./delivery-search.ts";

const COLUMNS: readonly Column<Delivery>[] = [
  { id: "status", header: "Status", width: "92px", cell: ({ status }) => <StatusBadge status={status} /> },
  {
    id: "event",
    header: "Event",
    width: "minmax(0, 1fr)",
    cell: ({ eventType }) => <span className="font-mono text-xs">{eventType}</span>,
  },
  {
    id: "url",
    header: "URL",
    width: "minmax(0, 1.2fr)",
    from: 720,
    cell: ({ url }) => <span className="font-mono text-xs text-soft">{url}</span>,
  },
  {
    id: "last",
    header: "Last attempt",
    width: "minmax(0, 160px)",
    from: 560,
    cell: ({ attempts, status }) => {
      const last = attempts.at(-1);
      return last === undefined ? (
        <span className="text-faint">none yet</span>
      ) : (
        <AttemptBadge attempt={last} of={status} />
      );
    },
  },
  {
    id: "next",
    header: "Next",
    width: "64px",
    align: "right",
    from: 340,
    cell: ({ nextAttemptAt }) =>
      nextAttemptAt === null ? (
        ""
      ) : (
        <span className="text-warn">
          <Countdown until={nextAttemptAt} />
        </span>
      ),
  },
  {
    id: "createdAt",
    header: "Age",
    width: "56px",
    align: "right",
    from: 380,
    cell: ({ createdAt }) => <Time at={createdAt} className="text-faint" />,
  },
];

const DELIVERIES: SearchableList<Delivery> = {
  one: "delivery",
  many: "deliveries",
  fields: DELIVERY_FIELDS,
  saved: SAVED_DELIVERY_SEARCHES,
  sourceOf: (search) => deliverySource(deliveryQueryOf(search)),
  columns: COLUMNS,
};

/** The part of `/webhooks/deliveries` and `/webhooks/deliveries/:id`. */
export function Deliveries({ id }: { id: string | null }) {
  return (
    <Split
      {...DELIVERIES}
      id={id}
      listPath="/webhooks/deliveries"
      pathOf={(deliveryId) => `/webhooks/deliveries/${deliveryId}`}
      list={(onOpen) => <SearchList list={DELIVERIES} openId={id} onOpen={onOpen} empty={<NoDeliveries />} />}
      detail={(deliveryId, onClose) => <OpenDelivery id={deliveryId} onClose={onClose} />}
    />
  );
}

function OpenDelivery({ id, onClose }: { id: string; onClose: () => void }) {
  const found = useDelivery(id);
  return (
    <>
      <DetailHead
        line={
          <h2 className="min-w-0 flex-1 truncate font-mono text-base font-semibold">{found.data?.eventType ?? "…"}</h2>
        }
        onClose={onClose}
      />
      <Read found={found}>{(delivery) => <DeliveryDetail delivery={delivery} />}</Read>
    </>
  );
}

function NoDeliveries() {
  const [, navigate] = useLocation();
  return (
    <Empty
      icon="webhooks"
      title="No deliveries yet"
      action={
        <Button tone="primary" onClick={() => navigate("/webhooks/events")}>
          Trigger an event
        </Button>
      }
    >
      A delivery is one event on its way to one endpoint.
    </Empty>
  );
}
