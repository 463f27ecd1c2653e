/** A list that is searched: a search line whose chips are in the address, searches with a name, and the rows that match. */

import { type ReactNode, useMemo } from "react";
import type { PageSource } from "../api/pages.ts";
import { Button } from "./button.tsx";
import type { Column } from "./data-table.tsx";
import { Empty } from "./empty.tsx";
import { capitalized } from "./formats.ts";
import { RecordRows } from "./record-rows.tsx";
import { type SavedSearch, SavedSearches } from "./saved-searches.tsx";
import { type SearchField, SearchLine, useSearchLine } from "./search-line.tsx";
import { formatSearch, parseSearch, type Search } from "./search-terms.ts";
import { serviceNow } from "./time.tsx";

/** A list that can be searched. */
export interface SearchableList<Row> {
  /** Noun of a record, and of many: `delivery`, `deliveries`. */
  one: string;
  many: string;
  fields: readonly SearchField[];
  saved: readonly SavedSearch[];
  /** The list of a search, at the time `now`: `since:1h` stays an hour before the search while page after page is read. */
  sourceOf: (search: Search, now: number) => PageSource<Row>;
  columns: readonly Column<Row>[];
}

interface SearchListProps<Row> {
  list: SearchableList<Row>;
  openId: string | null;
  onOpen: (id: string) => void;
  /** Beside the search line. */
  verbs?: ReactNode;
  /** Between the searches and the rows, as long as nothing is searched; `onPick` searches. */
  above?: (onPick: (line: string) => void) => ReactNode;
  /** Shown if there is no record at all. */
  empty: ReactNode;
}

/** The list. */
export function SearchList<Row>({ list, openId, onOpen, verbs, above, empty }: SearchListProps<Row>) {
  const { one, many, fields, saved, sourceOf, columns } = list;
  const [search, setSearch] = useSearchLine(fields);
  const line = formatSearch(search);
  const read = (text: string) =>
    parseSearch(
      text,
      fields.map(({ name }) => name),
    );
  // biome-ignore lint/correctness/useExhaustiveDependencies: the same line is the same search, made once.
  const source = useMemo(() => sourceOf(read(line), serviceNow()), [line, sourceOf]);
  const pick = (text: string) => setSearch(read(text));
  const noMatch = (
    <Empty
      icon="search"
      title={`No ${one} matches`}
      action={<Button onClick={() => pick("")}>Clear the search</Button>}
    >
      Change the chips, or clear them.
    </Empty>
  );
  return (
    <>
      <div className="flex items-start gap-2 px-4 pt-3 pb-2">
        <SearchLine label={`Search ${many}`} fields={fields} search={search} onSearch={setSearch} />
        {verbs}
      </div>
      <SavedSearches searches={saved} line={line} onPick={pick} />
      {line === "" && above?.(pick)}
      <RecordRows
        key={line}
        label={capitalized(many)}
        source={source}
        columns={columns}
        openId={openId}
        onOpen={onOpen}
        empty={line === "" ? empty : noMatch}
      />
    </>
  );
}
