/** The clauses (`with`) and parameters of a statement while it is written. */

import type { SqlValue } from "../rows.ts";
import { type InputColumn, jsonRows, recordset } from "./json-rows.ts";
import type { SqlParameter } from "./sql.ts";

/** A statement and its parameters. */
export interface SqlStatement {
  text: string;
  parameters: SqlParameter[];
}

export class Clauses {
  readonly #parameters: SqlParameter[] = [];
  readonly #clauses: string[] = [];
  #names = 0;
  /** Names of the clauses that list refused transactions. */
  readonly #refused: string[] = [];

  parameter(value: SqlParameter): string {
    this.#parameters.push(value);
    return `$${this.#parameters.length}`;
  }

  /** Adds a clause and returns its name. */
  add(sql: string, kind: "" | "materialized" = ""): string {
    this.#names += 1;
    const name = `c${this.#names}`;
    this.#clauses.push(`${name} as ${kind} (${sql})`);
    return name;
  }

  /** Adds clauses that are written with their names. */
  addWritten(sql: string): void {
    this.#clauses.push(sql);
  }

  /** Adds rows of values. */
  addRows(columns: readonly InputColumn[], rows: readonly (readonly SqlValue[])[]): string {
    return this.add(`select * from ${recordset(this.parameter(jsonRows(columns, rows)), columns)}`, "materialized");
  }

  /** From here on the transactions that a clause lists (`tx`) are refused. */
  refuse(clause: string): void {
    this.#refused.push(clause);
  }

  get refused(): readonly string[] {
    return this.#refused;
  }

  /** SQL for whether the transaction of a row is accepted. */
  isAccepted(row: string): string {
    return this.#refused.map((clause) => `${row}.tx not in (select tx from ${clause})`).join(" and ") || "true";
  }

  statement(select: string): SqlStatement {
    const clauses = this.#clauses.length === 0 ? "" : `with ${this.#clauses.join(",\n")}\n`;
    return { text: clauses + select, parameters: this.#parameters };
  }
}
