/** Logs: the requests that the service answered, the errors among them first, and one request with its bodies. */

import { useMemo } from "react";
import type { LoggedRequest, RequestErrorGroup } from "../../../sdk/wire.ts";
import { useConnected } from "../../api/context.ts";
import { requestSource, useRequestErrors } from "../../api/requests.ts";
import { pathOfRequest } from "../../parts/addresses.ts";
import { Badge, toneOfHttp } from "../../parts/badge.tsx";
import { NamedPath } from "../../parts/contact-name.tsx";
import type { Column } from "../../parts/data-table.tsx";
import { Empty } from "../../parts/empty.tsx";
import { formatCount, formatMs } from "../../parts/formats.ts";
import type { ScreenProps } from "../../parts/screen.ts";
import { type SearchableList, SearchList } from "../../parts/search-list.tsx";
import { Split } from "../../parts/split.tsx";
import { serviceNow, Time } from "../../parts/time.tsx";
import { RequestDetail } from "./request-detail.tsx";
import { LOG_FIELDS, logQueryOf, SAVED_LOG_SEARCHES } from "./search.ts";

/** The errors that are shown above the log are of the last day. */
const ERRORS_OF_MS = 86_400_000;
const GROUPS_MAX = 4;

const COLUMNS: readonly Column<LoggedRequest>[] = [
  {
    id: "status",
    header: "Status",
    width: "64px",
    cell: ({ status }) => <Badge tone={toneOfHttp(status)}>{status}</Badge>,
  },
  {
    id: "method",
    header: "Method",
    width: "64px",
    cell: ({ method }) => <span className="font-mono text-xs">{method}</span>,
  },
  {
    id: "path",
    header: "Path",
    width: "minmax(0, 1fr)",
    cell: ({ path }) => <NamedPath path={path} />,
  },
  {
    id: "code",
    header: "Error",
    width: "minmax(0, 200px)",
    from: 640,
    cell: ({ errorCode }) => <span className="font-mono text-xs text-soft">{errorCode ?? ""}</span>,
  },
  {
    id: "duration",
    header: "Time",
    width: "64px",
    align: "right",
    from: 420,
    cell: ({ durationMs }) => <span className="text-faint tabular-nums">{formatMs(durationMs)}</span>,
  },
  {
    id: "createdAt",
    header: "Age",
    width: "56px",
    align: "right",
    cell: ({ createdAt }) => <Time at={createdAt} className="text-faint" />,
  },
];

const REQUESTS: Omit<SearchableList<LoggedRequest>, "sourceOf"> = {
  one: "request",
  many: "requests",
  fields: LOG_FIELDS,
  saved: SAVED_LOG_SEARCHES,
  columns: COLUMNS,
};

/** The customer that an admin has chosen; without a choice the log is that of all. */
function useChosenCustomer(): { customerId?: string } {
  const { session, customerId } = useConnected();
  return session.scope === "admin" && customerId !== null ? { customerId } : {};
}

function useRequestList(): SearchableList<LoggedRequest> {
  const { customerId } = useChosenCustomer();
  return useMemo(
    () => ({ ...REQUESTS, sourceOf: (search, now) => requestSource({ ...logQueryOf(search, now), customerId }) }),
    [customerId],
  );
}

/** The screen of `/logs` and `/logs/:id`. */
export function Logs({ params }: ScreenProps) {
  const id = params.id ?? null;
  const list = useRequestList();
  return (
    <Split
      {...REQUESTS}
      id={id}
      listPath="/logs"
      pathOf={pathOfRequest}
      list={(onOpen) => (
        <SearchList
          list={list}
          openId={id}
          onOpen={onOpen}
          above={(onPick) => id === null && <ErrorGroups onPick={onPick} />}
          empty={
            <Empty icon="logs" title="No requests yet">
              Requests with a key appear here. Outside of a sandbox, TB_REQUEST_LOG turns the log on.
            </Empty>
          }
        />
      )}
      detail={(requestId, onClose) => <RequestDetail id={requestId} onClose={onClose} />}
    />
  );
}

/** Errors of the last day by code and route: a row is a search. */
function ErrorGroups({ onPick }: { onPick: (q: string) => void }) {
  const since = useMemo(() => new Date(serviceNow() - ERRORS_OF_MS).toISOString(), []);
  const groups = useRequestErrors({ since, ...useChosenCustomer() }).data ?? [];
  if (groups.length === 0) return null;
  return (
    <section aria-label="Errors of the last day" className="mx-4 mb-3 overflow-hidden rounded-lg border">
      <h2 className="border-b bg-panel px-3 py-1.5 text-xs font-semibold text-soft">Errors of the last day</h2>
      {groups.slice(0, GROUPS_MAX).map((group) => (
        <ErrorRow key={`${group.code} ${group.method} ${group.route}`} group={group} onPick={onPick} />
      ))}
    </section>
  );
}

function ErrorRow({ group, onPick }: { group: RequestErrorGroup; onPick: (q: string) => void }) {
  const { code, method, route, status, count, lastAt } = group;
  return (
    <button
      type="button"
      onClick={() => onPick(`code:${code} method:${method}`)}
      className="flex w-full items-center gap-3 border-b px-3 py-1.5 text-left outline-offset-[-2px] last:border-b-0 hover:bg-hover"
    >
      <span className="w-10 text-right font-semibold tabular-nums">{formatCount(count)}</span>
      <Badge tone={toneOfHttp(status)}>{status}</Badge>
      <span className="min-w-0 truncate font-mono text-xs">{code}</span>
      <span className="min-w-0 flex-1 truncate font-mono text-xs text-faint max-sm:hidden">
        {method} {route ?? "(no route)"}
      </span>
      <Time at={lastAt} className="text-xs text-faint" />
    </button>
  );
}
