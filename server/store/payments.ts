/** Reads of payment requests. */

import { type Kysely, type SqlBool, sql } from "kysely";
import type { PaymentStatus } from "../../sdk/wire.ts";
import type { CustomerId, PaymentId } from "../core/id.ts";
import type { Payment } from "../core/payment.ts";
import { subscriberForms } from "../core/phone-forms.ts";
import {
  type IndexedList,
  indexed,
  is,
  type ListPage,
  type PageStart,
  readPage,
  since,
  until,
} from "./list-windows.ts";
import { decodeRows, isNotQuarantined } from "./quarantine.ts";
import { type Database, decode } from "./rows.ts";
import { narrowedId } from "./sql-dialects.ts";

/** The request of any customer. */
export async function findPayment(db: Kysely<Database>, id: PaymentId): Promise<Payment | null> {
  const row = await db.selectFrom("payments").selectAll().where("id", "=", id).executeTakeFirst();
  return row === undefined ? null : decode("payments", row);
}

/** A customer's request; null for another customer's. */
export async function findPaymentOf(db: Kysely<Database>, customerId: CustomerId, id: string): Promise<Payment | null> {
  const payment = await findPayment(db, id as PaymentId);
  return payment?.customerId === customerId ? payment : null;
}

export interface PaymentFilter {
  status?: PaymentStatus | undefined;
  /** Epoch milliseconds, inclusive. */
  createdFrom?: number | undefined;
  /** Epoch milliseconds, exclusive. */
  createdBefore?: number | undefined;
}

/** A customer's requests, newest first. */
export function listPayments(
  db: Kysely<Database>,
  customerId: CustomerId,
  filter: PaymentFilter,
  start: PageStart,
  limit: number,
): Promise<ListPage<Payment>> {
  const list: IndexedList<Payment> = {
    db,
    table: "payments",
    column: "id",
    order: "newest",
    narrow: [indexed("customer_id", customerId)],
    filter: [
      ...is("status", filter.status),
      ...since("created_at", filter.createdFrom),
      ...until("created_at", filter.createdBefore),
    ],
    decode: (row) => decode("payments", row),
    placeOf: ({ id }) => id,
  };
  return readPage(list, start, limit);
}

/** A payment, matched against requests of exactly its amount. */
export interface Paid {
  customerId: CustomerId;
  /** The number that sent the request. */
  from: string;
  /** The contact that received the request. */
  to: string;
  amountCents: number;
}

/** The oldest pending request that matches a payment. */
export async function findOldestPending(db: Kysely<Database>, paid: Paid): Promise<Payment | null> {
  const row = await db
    .selectFrom("payments")
    .selectAll()
    .where("customer_id", "=", paid.customerId)
    .where("from", "=", paid.from)
    .where("to", "in", subscriberForms(paid.to))
    .where("amount_cents", "=", paid.amountCents)
    // As a literal: neither database takes an index with this condition for a parameter.
    .where(sql<SqlBool>`status = 'pending'`)
    .orderBy(narrowedId("payments"))
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? null : decode("payments", row);
}

/** Requests that expired by `now`, earliest first. */
export async function listDuePayments(db: Kysely<Database>, now: number, limit: number): Promise<Payment[]> {
  const rows = await db
    .selectFrom("payments")
    .selectAll()
    .where("due_at", "is not", null)
    .where("due_at", "<=", now)
    .where(isNotQuarantined("payments"))
    .orderBy("due_at")
    .orderBy("id")
    .limit(limit)
    .execute();
  return decodeRows(db, "payments", rows);
}
