/** Provider instances: their health, the age of their last event, and the problems that an operator has to fix. */

import type { Instance } from "../../../sdk/wire.ts";
import { StatusBadge } from "../../parts/badge.tsx";
import { CodeBlock } from "../../parts/code-block.tsx";
import { CopyButton } from "../../parts/copy.tsx";
import { Time } from "../../parts/time.tsx";
import { ageColumn, Instant } from "./cells.tsx";
import { idField, type RecordList, RecordTable } from "./record-table.tsx";
import { Warnings } from "./warnings.tsx";

/** Health changes without an event. */
const REFRESH_MS = 15_000;

const INSTANCES: RecordList<Instance> = {
  noun: "instances",
  refreshMs: REFRESH_MS,
  label: "Provider instances",
  read: async (api, cursor, options) => {
    const { instances, pagination } = await api.admin.instances.list({ limit: 100, cursor }, options);
    return { rows: instances, next: pagination.nextCursor };
  },
  rowId: ({ id }) => id,
  titleOf: ({ name }) => name,
  columns: [
    { id: "health", header: "Health", width: "112px", cell: ({ health }) => <StatusBadge status={health} /> },
    { id: "name", header: "Name", width: "minmax(0, 1fr)", cell: ({ name }) => <b className="font-medium">{name}</b> },
    { id: "provider", header: "Provider", width: "112px", from: 560, cell: ({ provider }) => provider },
    {
      id: "warnings",
      header: "Problems",
      width: "72px",
      cell: ({ warnings }) =>
        warnings.length === 0 ? (
          <span className="text-faint">–</span>
        ) : (
          <span className="font-medium text-accent" title={warnings.join("\n")}>
            See why
          </span>
        ),
    },
    {
      id: "lastEventAt",
      header: "Last event",
      width: "80px",
      align: "right",
      from: 480,
      cell: ({ lastEventAt }) => <Instant at={lastEventAt} never="none yet" />,
    },
    { ...ageColumn<Instance>(), from: 640 },
  ],
  fieldsOf: ({ id, provider, health, lastEventAt, hookUrl, createdAt, updatedAt }) => [
    idField(id),
    ["Health", <StatusBadge key="health" status={health} />],
    ["Provider", provider],
    ["Last event", <Instant key="lastEventAt" at={lastEventAt} never="none yet" />],
    [
      "Hook URL",
      hookUrl === null ? null : (
        <span key="hook" className="flex items-center gap-1">
          <span className="truncate font-mono text-xs">{hookUrl}</span>
          <CopyButton text={hookUrl} label="Copy the hook URL" />
        </span>
      ),
    ],
    ["Created", <Time key="created" at={createdAt} />],
    ["Changed", <Time key="changed" at={updatedAt} />],
  ],
  empty: {
    icon: "settings",
    title: "No instances yet",
    text: "An instance carries messages: a Mac with BlueBubbles, an SMPP carrier, a Twilio account or the sandbox.",
    verb: "Add a sandbox",
    call: {
      method: "POST",
      path: "/v1/admin/instances",
      body: { name: "Sandbox", provider: "sandbox", config: {} },
      typescript: 'tightbeam.admin.instances.create({ name: "Sandbox", provider: "sandbox", config: {} })',
    },
  },
};

function Problems({ warnings }: Pick<Instance, "warnings">) {
  if (warnings.length === 0) return null;
  return (
    <>
      <Warnings warnings={warnings} />
      <CodeBlock label="The command that advises what to do" snippets={{ cli: "npx tightbeam doctor" }} />
    </>
  );
}

/** The section. */
export function InstanceSection() {
  return <RecordTable list={INSTANCES} noticeOf={({ warnings }) => <Problems warnings={warnings} />} />;
}
