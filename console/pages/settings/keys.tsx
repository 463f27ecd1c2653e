/** API keys: the list, a new one, its rotation, and its end. A key is shown once. */

import { useState } from "react";
import type { Key } from "../../../sdk/wire.ts";
import { useConnected } from "../../api/context.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { CopyId } from "../../parts/copy.tsx";
import { useKeys } from "../../parts/keys.ts";
import { realNow, Time } from "../../parts/time.tsx";
import { ageColumn, Instant } from "./cells.tsx";
import { CreateKeyDrawer } from "./create-key.tsx";
import { RevokeKeyDialog, RotateKeyDialog, ShownOnce } from "./key-dialogs.tsx";
import { isWorking, type KeyState, keyStateOf, maskedKey, powerOf } from "./key-state.ts";
import { idField, type RecordList, RecordTable } from "./record-table.tsx";

const STATE_NOTES: Record<KeyState, string | null> = {
  active: null,
  replaced: "replaced",
  expired: "expired",
  revoked: "revoked",
};

function stateOf(key: Key): KeyState {
  return keyStateOf(key, realNow());
}

function KeyName({ row }: { row: Key }) {
  const note = STATE_NOTES[stateOf(row)];
  return (
    <span className="flex min-w-0 items-center gap-2">
      <span className={`truncate ${isWorking(stateOf(row)) ? "font-medium" : "text-faint line-through"}`}>
        {row.name}
      </span>
      {note !== null && <Badge>{note}</Badge>}
    </span>
  );
}

/** The keys, as a list. */
export const KEYS: RecordList<Key> = {
  noun: "keys",
  label: "API keys",
  read: async (api, cursor, options) => {
    const { keys, pagination } = await api.admin.keys.list({ limit: 100, cursor }, options);
    return { rows: keys, next: pagination.nextCursor };
  },
  rowId: ({ id }) => id,
  titleOf: ({ name }) => name,
  columns: [
    { id: "name", header: "Name", width: "minmax(0, 1.4fr)", cell: (key) => <KeyName row={key} /> },
    {
      id: "prefix",
      header: "Key",
      width: "80px",
      cell: (key) => <span className="font-mono text-xs text-soft">{maskedKey(key)}</span>,
    },
    {
      id: "scope",
      header: "Scope",
      width: "minmax(0, 1fr)",
      from: 560,
      cell: (key) => (key.scope === "admin" ? <Badge tone="accent">admin</Badge> : powerOf(key)),
    },
    {
      id: "used",
      header: "Last used",
      width: "72px",
      align: "right",
      cell: ({ lastUsedAt }) => <Instant at={lastUsedAt} />,
    },
    { ...ageColumn<Key>(), from: 420 },
  ],
  fieldsOf: (key) => [
    idField(key.id),
    ["State", <Badge key="state">{stateOf(key)}</Badge>],
    ["Key", <span key="key" className="font-mono text-xs">{`${maskedKey(key)} (only its hash is stored)`}</span>],
    ["Scope", powerOf(key)],
    ["Customer", key.customerId === null ? null : <CopyId key="customer" id={key.customerId} />],
    [
      "Rate limit",
      key.rateLimit === null ? "that of the service" : `${key.rateLimit.limit} in ${key.rateLimit.windowSeconds} s`,
    ],
    ["Last used", <Instant key="used" at={key.lastUsedAt} />],
    ["Created", <Time key="created" at={key.createdAt} />],
    ["Expires", <Instant key="expires" at={key.expiresAt} isReal />],
    ["Revoked", key.revokedAt === null ? null : <Time key="revoked" at={key.revokedAt} />],
    ["Replaced by", key.replacedBy === null ? null : <CopyId key="by" id={key.replacedBy} />],
  ],
  empty: { icon: "settings", title: "No keys yet", text: "Programs sign in with a key." },
};

type Step = { is: "create" } | { is: "rotate" | "revoke"; of: Key } | { is: "shown"; key: Key };

/** The section. */
export function KeySection() {
  const { session } = useConnected();
  const [step, setStep] = useState<Step | null>(null);
  const end = () => setStep(null);
  const create = () => setStep({ is: "create" });
  useKeys([{ key: "c", label: "Create a key", run: create }]);
  const show = (key: Key) => setStep({ is: "shown", key });
  return (
    <>
      <RecordTable
        list={KEYS}
        verbs={
          <Button tone="primary" icon="plus" hint="c" onClick={create}>
            Create a key
          </Button>
        }
        actionsOf={(of, close) => {
          const state = stateOf(of);
          if (!isWorking(state)) return undefined;
          const go = (is: "rotate" | "revoke") => {
            close();
            setStep({ is, of });
          };
          return (
            <>
              {state === "active" && (
                <Button icon="retry" onClick={() => go("rotate")}>
                  Rotate
                </Button>
              )}
              <Button tone="danger" onClick={() => go("revoke")}>
                Revoke
              </Button>
            </>
          );
        }}
      />
      <CreateKeyDrawer open={step?.is === "create"} onClose={end} onCreated={show} />
      {step?.is === "rotate" && (
        <RotateKeyDialog of={step.of} isOwn={step.of.id === session.keyId} onClose={end} onRotated={show} />
      )}
      {step?.is === "revoke" && <RevokeKeyDialog of={step.of} isOwn={step.of.id === session.keyId} onClose={end} />}
      {step?.is === "shown" && <ShownOnce of={step.key} onClose={end} />}
    </>
  );
}
