/**
 * SQL that finds a customer's messages, events and deliveries. On SQLite their indexes begin with the end of the
 * customer's id only, since a customer's id in every entry was half of the indexes. Two customers hardly ever share it;
 * if they do, the entries of both are read, so every read checks the whole id too. On PostgreSQL the indexes have the
 * whole id.
 */

import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { CustomerId } from "../core/id.ts";
import { perDialect } from "./sql-dialects.ts";

const END_LENGTH = 8;

/** The end of the customer's id of a row, as the indexes of SQLite have it. `row` is the alias of its table. */
function customerEnd(row: string): string {
  return `substr(${columnOf(row)}, -${END_LENGTH})`;
}

/** Whether the index has a row under the customer: for `narrow`, with `hasWholeId` in `filter`. */
export function nearCustomer(customerId: CustomerId): RawBuilder<SqlBool> {
  const end = customerId.slice(-END_LENGTH);
  return perDialect(sql<SqlBool>`${sql.raw(customerEnd(""))} = ${end}`, sql<SqlBool>`customer_id = ${customerId}`);
}

/** Whether a row of `nearCustomer` is the customer's. */
export function hasWholeId(customerId: CustomerId): RawBuilder<SqlBool> {
  return perDialect(sql<SqlBool>`+customer_id = ${customerId}`, sql<SqlBool>`true`);
}

/** Whether a row is the customer's. */
export function ofCustomer(customerId: CustomerId): RawBuilder<SqlBool> {
  return sql<SqlBool>`${nearCustomer(customerId)} and ${hasWholeId(customerId)}`;
}

/**
 * Whether a row belongs to the customer of another row. `row` is the alias of the table, `customer` is SQL for the
 * whole id.
 */
export function ofSameCustomer(row: string, customer: string): RawBuilder<SqlBool> {
  return perDialect(sql.raw<SqlBool>(isOfCustomer(row, customer)), sql.raw<SqlBool>(`${columnOf(row)} = ${customer}`));
}

/** `nearCustomer` of SQLite in SQL by hand. `row` is the alias of the table, `customer` is SQL for the whole id. */
export function isNearCustomer(row: string, customer: string): string {
  return `${customerEnd(row)} = substr(${customer}, -${END_LENGTH})`;
}

/** `ofCustomer` of SQLite in SQL by hand. */
export function isOfCustomer(row: string, customer: string): string {
  return `${isNearCustomer(row, customer)} and +${columnOf(row)} = ${customer}`;
}

function columnOf(row: string): string {
  return row === "" ? "customer_id" : `${row}.customer_id`;
}
