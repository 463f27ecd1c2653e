/** The rows of a list in each of its states: read for the first time, refused, empty, or a table with what is new above it. */

import type { ReactNode } from "react";
import { type PageSource, usePages } from "../api/pages.ts";
import { Button } from "./button.tsx";
import { type Column, DataTable } from "./data-table.tsx";
import { Failed, Loading } from "./empty.tsx";

interface RecordRowsProps<Row> {
  label: string;
  source: PageSource<Row>;
  columns: readonly Column<Row>[];
  openId: string | null;
  onOpen: (id: string) => void;
  /** Shown in place of no rows. */
  empty: ReactNode;
  /** Whether rows that come in are shown at once. */
  showsNew?: boolean;
  /** Shown with the rows, such as the open one in a drawer. */
  children?: (rows: readonly Row[]) => ReactNode;
}

/** The rows. */
export function RecordRows<Row>({
  label,
  source,
  columns,
  openId,
  onOpen,
  empty,
  showsNew = false,
  children,
}: RecordRowsProps<Row>) {
  const { rowId } = source;
  const found = usePages(source, { openId, showsNew });
  if (found.rows === null)
    return found.error === null ? <Loading /> : <Failed error={found.error} onRetry={found.refetch} />;
  if (found.rows.length === 0) return empty;
  return (
    <>
      <DataTable
        label={label}
        rows={found.rows}
        columns={columns}
        rowId={rowId}
        openId={openId}
        onOpen={(row) => onOpen(rowId(row))}
        hasMore={found.hasMore}
        onEnd={found.olderError === null ? found.readOlder : undefined}
        fresh={{ count: found.freshCount, onShow: found.showFresh }}
      />
      {found.olderError !== null && (
        <p role="alert" className="flex items-center gap-3 border-t px-4 py-1.5 text-soft">
          <span className="min-w-0 flex-1 truncate">The next rows could not be read: {found.olderError.message}</span>
          <Button icon="retry" onClick={found.readOlder}>
            Try again
          </Button>
        </p>
      )}
      {children?.(found.rows)}
    </>
  );
}
