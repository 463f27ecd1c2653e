/** Reads the rows of a database table by table. No service may use the database. Changes nothing. */

import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { COPIED, type CopiedTable, fitRow, keyOf } from "../copied-tables.ts";
import type { CopiedPage, RowReader } from "../copy-rows.ts";
import type { SqlValue } from "../rows.ts";
import { otherSchema } from "../schema-sql.ts";
import { StoreUnusable } from "../store.ts";
import { openReader } from "./connection.ts";
import { schemaIdOf } from "./make-tables.ts";
import { SQLITE_SCHEMA } from "./schema.ts";
import { allRows } from "./wide-rows.ts";

export class RowSource implements RowReader {
  readonly #database: DatabaseSync;
  readonly #path: string;

  /** Throws `StoreUnusable` if the database has not the tables of this version. */
  constructor(path: string) {
    this.#path = path;
    this.#database = openReader(path);
    try {
      this.#requireCurrent();
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  /** Identifies the present state of the database: another database, or a change of this one, has another text. */
  get identity(): string {
    return [this.#path, `${this.#path}-wal`]
      .map((path) => statSync(path, { throwIfNoEntry: false }))
      .map((file) =>
        file === undefined || file.size === 0 ? "none" : `${file.size} bytes of ${file.mtime.toISOString()}`,
      )
      .join(", log ");
  }

  count(): number {
    return COPIED.reduce((sum, { name }) => sum + this.countOf(`select count(*) from "${name}"`), 0);
  }

  /** The `count` of a query. */
  countOf(query: string): number {
    return Number(this.#value(query));
  }

  /** The greatest position that an event ever had. */
  get lastPosition(): number {
    return Number(
      this.#value("select max(last, coalesce((select max(position) from events), 0)) from deleted_position"),
    );
  }

  setting(name: string): string | null {
    const row = this.#database.prepare("select value from settings where name = ?").get(name);
    return typeof row?.value === "string" ? row.value : null;
  }

  /** Reads the rows after a key, in the order of the key, up to `limit` in a page. */
  *pages(table: CopiedTable, first: SqlValue[] | null, limit: number): Iterable<CopiedPage> {
    for (let after = first; ; ) {
      const found = this.#read(table, after, limit);
      const last = found.at(-1);
      if (last === undefined) return;
      after = keyOf(table, last);
      const page: CopiedPage = { rows: [], after, replaced: [] };
      for (const row of found) {
        const { values, replaced } = fitRow(table, row);
        page.rows.push(values);
        for (const column of replaced) page.replaced.push(`${table.name} ${keyOf(table, row).join(" ")} ${column}`);
      }
      yield page;
    }
  }

  close(): void {
    this.#database.close();
  }

  #read({ name, key, columns }: CopiedTable, after: SqlValue[] | null, limit: number): (SqlValue | bigint)[][] {
    const order = key.map((column) => `"${column}"`).join(", ");
    const behind = after === null ? "" : `where (${order}) > (${key.map(() => "?").join(", ")})`;
    const list = columns.map(({ column }) => `"${column}"`).join(", ");
    const statement = this.#database.prepare(`select ${list} from "${name}" ${behind} order by ${order} limit ?`);
    statement.setReturnArrays(true);
    return allRows(statement, [...(after ?? []), limit]) as (SqlValue | bigint)[][];
  }

  #requireCurrent(): void {
    const id = schemaIdOf(this.#database);
    if (id === null) throw new StoreUnusable(`${this.#path} is no database of Tightbeam`);
    if (id !== SQLITE_SCHEMA.id) throw otherSchema(this.#path);
  }

  #value(sql: string): unknown {
    const row = this.#database.prepare(sql).get();
    return row === undefined ? undefined : Object.values(row)[0];
  }
}
