/** Sessions: browsers that are signed in to the console, and the end of one. */

import type { SessionList, SessionSummary } from "../../../sdk/wire.ts";
import { useConnected } from "../../api/context.ts";
import { useEndSession } from "../../api/keys.ts";
import { useFirstPage } from "../../api/pages.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { CopyId } from "../../parts/copy.tsx";
import { Time } from "../../parts/time.tsx";
import { toast, toastError } from "../../parts/toasts.tsx";
import { ageColumn } from "./cells.tsx";
import { KEYS } from "./keys.tsx";
import { idField, type RecordList, RecordTable } from "./record-table.tsx";

function listOf(ownId: string, names: ReadonlyMap<string, string>): RecordList<SessionSummary> {
  return {
    noun: "sessions",
    label: "Sessions",
    read: async (api, cursor, { signal }) => {
      const query = { limit: 100, cursor };
      const page = await api.request<SessionList>("GET", "/v1/admin/sessions", { query, signal });
      return { rows: page.sessions, next: page.pagination.nextCursor };
    },
    rowId: ({ id }) => id,
    titleOf: ({ id }) => (id === ownId ? "Session of this browser" : "Session"),
    columns: [
      {
        id: "key",
        header: "Key",
        width: "minmax(0, 1fr)",
        cell: ({ keyId }) => names.get(keyId) ?? <span className="font-mono text-xs">{keyId}</span>,
      },
      {
        id: "own",
        header: "This browser",
        isQuiet: true,
        width: "100px",
        cell: ({ id }) => id === ownId && <Badge tone="accent">this browser</Badge>,
      },
      {
        id: "used",
        header: "Last used",
        width: "80px",
        align: "right",
        cell: ({ lastUsedAt }) => <Time at={lastUsedAt} isReal className="text-faint" />,
      },
      { ...ageColumn<SessionSummary>(true), from: 480 },
    ],
    fieldsOf: ({ id, keyId, createdAt, lastUsedAt, expiresAt }) => [
      idField(id),
      ["Key", names.get(keyId)],
      ["Id of the key", <CopyId key="key" id={keyId} />],
      ["Signed in", <Time key="created" at={createdAt} isReal />],
      ["Last used", <Time key="used" at={lastUsedAt} isReal />],
      ["Ends unused", <Time key="expires" at={expiresAt} isReal />],
    ],
    empty: { icon: "screen", title: "No sessions", text: "Browsers that are signed in appear here." },
  };
}

/** The section. */
export function SessionSection() {
  const { session, leave } = useConnected();
  const end = useEndSession();
  const keys = useFirstPage(KEYS).data?.rows ?? [];
  const names = new Map(keys.map(({ id, name }) => [id, name]));
  return (
    <RecordTable
      list={listOf(session.id, names)}
      actionsOf={({ id }, close) => (
        <Button
          tone="danger"
          icon="out"
          disabled={end.isPending}
          onClick={() => {
            if (id === session.id) return leave();
            end.mutate(id, {
              onSuccess: () => {
                close();
                toast("The session has ended.");
              },
              onError: toastError,
            });
          }}
        >
          {id === session.id ? "Sign out" : "End the session"}
        </Button>
      )}
    />
  );
}
