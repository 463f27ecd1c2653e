/** The settings of the process that responds: their values, and where each comes from. */

import type { ServiceSetting, SettingSource } from "../../../sdk/wire.ts";
import { Badge } from "../../parts/badge.tsx";
import { Text } from "./cells.tsx";
import { type RecordList, RecordTable } from "./record-table.tsx";

const SOURCES: Record<SettingSource, string> = {
  flag: "flag",
  environment: "environment",
  default: "default",
};

function Source({ source }: Pick<ServiceSetting, "source">) {
  return source === "default" ? (
    <span className="text-faint">{SOURCES[source]}</span>
  ) : (
    <Badge tone="accent">{SOURCES[source]}</Badge>
  );
}

/** A secret is told by whether it is given. */
function Value({ value, source, isSecret }: ServiceSetting) {
  if (isSecret) return <span className="text-faint">{source === "default" ? "not given" : "given, not shown"}</span>;
  return (
    <span className="font-mono text-xs" title={value ?? undefined}>
      <Text>{value}</Text>
    </span>
  );
}

const CONFIGURATION: RecordList<ServiceSetting> = {
  noun: "service",
  label: "Settings of the service",
  read: async (api, _cursor, options) => ({ rows: (await api.admin.service(options)).settings, next: null }),
  rowId: ({ name }) => name,
  titleOf: ({ name }) => name,
  columns: [
    {
      id: "name",
      header: "Setting",
      width: "minmax(0, 1fr)",
      cell: ({ name }) => <span className="font-mono text-xs">{name}</span>,
    },
    { id: "value", header: "Value", width: "minmax(0, 1fr)", cell: (row) => <Value {...row} /> },
    { id: "source", header: "Source", width: "104px", cell: ({ source }) => <Source source={source} /> },
  ],
  fieldsOf: (row) => [
    ["Value", <Value key="value" {...row} />],
    ["Source", <Source key="source" source={row.source} />],
  ],
  empty: { icon: "settings", title: "No settings", text: "The settings of the service appear here." },
};

/** The section. */
export function ConfigurationSection() {
  return <RecordTable list={CONFIGURATION} />;
}
