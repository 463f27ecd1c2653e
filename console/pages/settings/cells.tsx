/** Cells and columns that lists of the settings share. */

import { Badge, StatusBadge } from "../../parts/badge.tsx";
import type { Column } from "../../parts/data-table.tsx";
import { Time } from "../../parts/time.tsx";

/** A name that is missing is a dash. */
export function Text({ children }: { children: string | null }) {
  return children === null || children === "" ? <span className="text-faint">–</span> : children;
}

/** An address in figures of one width. */
export function Address({ children }: { children: string | null }) {
  return (
    <span className="tabular-nums">
      <Text>{children}</Text>
    </span>
  );
}

/** An instant that may not have come yet. */
export function Instant({
  at,
  never = "never",
  isReal = false,
}: {
  at: string | null;
  never?: string;
  isReal?: boolean;
}) {
  if (at === null) return <span className="text-faint">{never}</span>;
  return <Time at={at} isReal={isReal} className="text-faint" />;
}

/** The column of the age of a record; `isReal` if the sandbox's clock does not date the records. */
export function ageColumn<Row extends { createdAt: string }>(isReal = false): Column<Row> {
  return {
    id: "createdAt",
    header: "Age",
    width: "64px",
    align: "right",
    cell: ({ createdAt }) => <Time at={createdAt} isReal={isReal} className="text-faint" />,
  };
}

/** The column of the status of a record. */
export function statusColumn<Row extends { status: string }>(): Column<Row> {
  return { id: "status", header: "Status", width: "96px", cell: ({ status }) => <StatusBadge status={status} /> };
}

/** Words as badges, at most three. */
export function Words({ words }: { words: readonly string[] }) {
  return (
    <span className="flex gap-1">
      {words.slice(0, 3).map((word) => (
        <Badge key={word}>{word}</Badge>
      ))}
      {words.length > 3 && <span className="text-xs text-faint">+{words.length - 3}</span>}
    </span>
  );
}
