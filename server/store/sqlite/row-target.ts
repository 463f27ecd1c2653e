/**
 * Writes the rows of another database into a new file. Nobody may read the file before `finish`, which flushes it to
 * disk.
 */

import { chmodSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { CopiedTable, CopiedValue } from "../copied-tables.ts";
import { NOT_BEGUN, type RowWriter, type TableProgress } from "../copy-rows.ts";
import { errorCode, openWriter, SQLITE_FULL, SQLITE_IOERR } from "./connection.ts";
import { makeTables } from "./make-tables.ts";
import { NoSpace, syncFile } from "./snapshot.ts";

export class RowTarget implements RowWriter {
  readonly #path: string;
  readonly #database: DatabaseSync;

  /** Makes the tables of this version in a new file. */
  static make(path: string): RowTarget {
    const database = openWriter(path);
    try {
      chmodSync(path, 0o600);
      makeTables(database);
      // One flush at the end is enough: nobody reads the file before `finish`.
      database.exec("pragma journal_mode = delete; pragma synchronous = off");
      return new RowTarget(path, database);
    } catch (error) {
      database.close();
      throw spaceError(error, path);
    }
  }

  private constructor(path: string, database: DatabaseSync) {
    this.#path = path;
    this.#database = database;
  }

  /** Returns no progress: an interrupted copy begins again, in another file. */
  progressOf(): TableProgress {
    return NOT_BEGUN;
  }

  /** Writes rows in one SQL transaction. Throws `NoSpace` if the disk is full or a write fails. */
  write({ name, columns }: CopiedTable, rows: readonly CopiedValue[][]): void {
    const names = columns.map(({ column }) => `"${column}"`).join(", ");
    const places = columns.map(() => "?").join(", ");
    const insert = this.#database.prepare(`insert into "${name}" (${names}) values (${places})`);
    try {
      this.#database.exec("begin");
      for (const row of rows) insert.run(...row.map((value, index) => sqliteValue(columns[index]?.type, value)));
      this.#database.exec("commit");
    } catch (error) {
      throw spaceError(error, this.#path);
    }
  }

  /** Notes the position after which later events get theirs. Closes the file, and flushes it to disk. */
  finish(lastPosition: number): void {
    try {
      this.#database.prepare("update deleted_position set last = ?").run(lastPosition);
    } catch (error) {
      throw spaceError(error, this.#path);
    } finally {
      this.close();
    }
    syncFile(this.#path);
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }
}

function sqliteValue(type: CopiedTable["columns"][number]["type"] | undefined, value: CopiedValue): SQLInputValue {
  if (value === null || type === "text") return value;
  if (type === "bytea") return Buffer.from(value.slice(2), "hex");
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : BigInt(value);
}

function spaceError(error: unknown, path: string): unknown {
  const code = errorCode(error);
  return code === SQLITE_FULL || code === SQLITE_IOERR ? new NoSpace(`${dirname(path)} has no space left`) : error;
}
