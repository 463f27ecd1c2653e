/** Reads the rows of a database that no service uses, table by table. Changes nothing. */

import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import type { CopiedTable } from "../copied-tables.ts";
import type { SqlValue } from "../rows.ts";
import { otherSchema } from "../schema-sql.ts";
import { StoreUnusable } from "../store.ts";
import { openReader } from "./connection.ts";
import { schemaIdOf } from "./make-tables.ts";
import { SQLITE_SCHEMA } from "./schema.ts";
import { allRows } from "./wide-rows.ts";

/** A row as SQLite has it. */
export type SourceRow = (SqlValue | bigint)[];

export class RowSource {
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

  /** Identifies the database as it is: another one, and each change of it, gives another text. */
  get identity(): string {
    return [this.#path, `${this.#path}-wal`]
      .map((path) => statSync(path, { throwIfNoEntry: false }))
      .map((file) =>
        file === undefined || file.size === 0 ? "none" : `${file.size} bytes of ${file.mtime.toISOString()}`,
      )
      .join(", log ");
  }

  count({ name }: CopiedTable): number {
    return this.countOf(`select count(*) from "${name}"`);
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

  /** Up to `limit` rows after a key, in the order of the key. The values are those of the columns. */
  read({ name, key, columns }: CopiedTable, after: SqlValue[] | null, limit: number): SourceRow[] {
    const order = key.map((column) => `"${column}"`).join(", ");
    const behind = after === null ? "" : `where (${order}) > (${key.map(() => "?").join(", ")})`;
    const list = columns.map(({ column }) => `"${column}"`).join(", ");
    const statement = this.#database.prepare(`select ${list} from "${name}" ${behind} order by ${order} limit ?`);
    statement.setReturnArrays(true);
    return allRows(statement, [...(after ?? []), limit]) as SourceRow[];
  }

  close(): void {
    this.#database.close();
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
