/** The endpoints: how each does, and one beside the list. */

import { useState } from "react";
import type { Webhook } from "../../../sdk/wire.ts";
import { useEndpoints } from "../../api/service.ts";
import { Button } from "../../parts/button.tsx";
import { DataTable } from "../../parts/data-table.tsx";
import { Empty, Failed, Loading } from "../../parts/empty.tsx";
import { useKeys } from "../../parts/keys.ts";
import { Split } from "../../parts/split.tsx";
import { COLUMNS } from "./endpoint-columns.tsx";
import { EndpointDetail } from "./endpoint-detail.tsx";
import { EndpointForm } from "./endpoint-form.tsx";
import { SecretOnce } from "./secret-once.tsx";

/** The part of `/webhooks` and `/webhooks/endpoints/:id`. */
export function Endpoints({ id }: { id: string | null }) {
  return (
    <Split
      one="endpoint"
      many="endpoints"
      id={id}
      listPath="/webhooks"
      pathOf={(endpointId) => `/webhooks/endpoints/${endpointId}`}
      list={(onOpen) => <EndpointList openId={id} onOpen={onOpen} />}
      detail={(endpointId, onClose) => <OpenEndpoint id={endpointId} onClose={onClose} />}
    />
  );
}

function OpenEndpoint({ id, onClose }: { id: string; onClose: () => void }) {
  const found = useEndpoints();
  if (found.isPending) return <Loading />;
  const endpoint = found.data?.find((one) => one.id === id);
  if (endpoint !== undefined) return <EndpointDetail endpoint={endpoint} onClose={onClose} />;
  return (
    <Empty icon="webhooks" title="There is no such endpoint" action={<Button onClick={onClose}>Close</Button>}>
      It may have been deleted.
    </Empty>
  );
}

function EndpointList({ openId, onOpen }: { openId: string | null; onOpen: (id: string) => void }) {
  const found = useEndpoints();
  const [isCreating, setCreating] = useState(false);
  const [created, setCreated] = useState<Webhook | null>(null);
  useKeys([{ key: "c", label: "Add an endpoint", run: () => setCreating(true) }]);
  const add = (
    <Button tone="primary" icon="plus" hint="c" onClick={() => setCreating(true)}>
      Add an endpoint
    </Button>
  );
  return (
    <>
      {found.isPending ? (
        <Loading />
      ) : found.data === undefined ? (
        <Failed error={found.error} onRetry={() => void found.refetch()} />
      ) : found.data.length === 0 ? (
        <Empty icon="webhooks" title="No endpoints yet" action={add}>
          An endpoint is an address of yours that the service sends signed events to.
        </Empty>
      ) : (
        <>
          <div className="flex items-center gap-3 px-4 py-3">
            <p className="min-w-0 flex-1 text-soft max-sm:hidden">
              {openId === null && "Figures of each endpoint's newest 100 deliveries."}
            </p>
            {add}
          </div>
          <DataTable
            label="Endpoints"
            rows={found.data}
            columns={COLUMNS}
            rowId={(endpoint) => endpoint.id}
            openId={openId}
            onOpen={(endpoint) => onOpen(endpoint.id)}
          />
        </>
      )}
      <EndpointForm
        open={isCreating}
        endpoint={null}
        onClose={() => setCreating(false)}
        onSaved={(endpoint) => (endpoint.secret === undefined ? onOpen(endpoint.id) : setCreated(endpoint))}
      />
      <SecretOnce
        secret={created?.secret ?? null}
        onClose={() => {
          if (created !== null) onOpen(created.id);
          setCreated(null);
        }}
      />
    </>
  );
}
