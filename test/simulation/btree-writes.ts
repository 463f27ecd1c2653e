/** Counts rows and b-tree entries written on a connection, by temporary triggers on every table. Writes nothing to the database. */

import type { Ports } from "../../server/store/sqlite/store.ts";

/** Rows that were written, and the entries of tables and indexes that this inserted, changed or removed. */
export interface BtreeWrites {
  rows: number;
  entries: number;
}

interface Index {
  /** Its columns, or expressions, as SQL. */
  columns: string[];
  /** The predicate of a partial index, `1` of any other. */
  predicate: string;
}

/** Installs the triggers on the connection of `ports`. Returns a function that reads the counts. */
export async function countBtreeWrites({ read }: Ports): Promise<() => Promise<BtreeWrites>> {
  const run = (sql: string) => read({ sql, parameters: [] }) as Promise<Record<string, string | number | null>[]>;
  await run("create temp table btree_writes (written_rows integer, entries integer)");
  await run("insert into temp.btree_writes values (0, 0)");
  for (const { name, wr } of await run(`pragma main.table_list`)) {
    const table = String(name);
    if (table.startsWith("sqlite_") || table === "btree_writes") continue;
    const columns = (await run(`pragma main.table_info("${table}")`)).map((column) => String(column.name));
    const indexes = await indexesOf(run, table, wr === 1);
    for (const event of ["insert", "update", "delete"] as const) {
      const entries = ["1", ...indexes.map((index) => entriesOf(event, index, columns))].join(" + ");
      await run(`create temp trigger "count ${event} ${table}" after ${event} on main."${table}" begin
        update btree_writes set written_rows = written_rows + 1, entries = entries + ${entries}; end`);
    }
  }
  return async () => {
    const [row] = await run("select * from temp.btree_writes");
    return { rows: Number(row?.written_rows), entries: Number(row?.entries) };
  };
}

type Run = (sql: string) => Promise<Record<string, string | number | null>[]>;

/** Indexes of a table that are b-trees of their own: the primary key of a table without rowid is the table itself. */
async function indexesOf(run: Run, table: string, isWithoutRowid: boolean): Promise<Index[]> {
  const indexes: Index[] = [];
  for (const { name, origin, partial } of await run(`pragma main.index_list("${table}")`)) {
    if (isWithoutRowid && origin === "pk") continue;
    const parts = await run(`pragma main.index_xinfo("${name}")`);
    const keys = parts.filter(({ key }) => key === 1).map((part) => part.name);
    const [written] = await run(`select sql from main.sqlite_schema where type = 'index' and name = '${name}'`);
    const predicate =
      partial === 1
        ? String(written?.sql)
            .split(/ where /i)
            .slice(1)
            .join(" where ")
        : "1";
    const [, list = ""] = / on \S+ ?\((.*?)\)(?: where .*)?$/is.exec(String(written?.sql)) ?? [];
    // An expression has no name.
    const isExpression = keys.some((key) => key === null);
    indexes.push({ columns: isExpression ? expressionsOf(list) : keys.map((key) => `"${key}"`), predicate });
  }
  return indexes;
}

/** The expressions of a list, which are divided by commas outside of brackets. */
function expressionsOf(list: string): string[] {
  return list.split(/,(?![^(]*\))/).map((one) => one.trim());
}

/** SQL for the entries that a row's change writes to an index. A new key is one entry removed and one inserted. */
function entriesOf(event: "insert" | "update" | "delete", index: Index, columns: readonly string[]): string {
  const of = (row: "old" | "new", expression: string) => {
    const values = columns.map((column) => `${row}."${column}" as "${column}"`).join(", ");
    return `(select ${expression} from (select ${values}))`;
  };
  const holds = (row: "old" | "new") => (index.predicate === "1" ? "1" : of(row, `(${index.predicate}) is true`));
  if (event === "insert") return holds("new");
  if (event === "delete") return holds("old");
  const isSame = index.columns.map((column) => `${of("old", column)} is ${of("new", column)}`).join(" and ");
  const both = `${holds("old")} + ${holds("new")}`;
  return `(case when ${isSame} and ${holds("old")} = ${holds("new")} then 0 else ${both} end)`;
}
