/** Which endpoints and customers a transaction changes. */

import type { Operation, ReceiverChange, Transaction } from "../store.ts";

export function receiverChanges(transaction: Transaction): ReceiverChange[] {
  return transaction.flatMap((operation) => {
    if (!("table" in operation)) return [];
    const { table } = operation;
    if (table !== "endpoints" && table !== "customers") return [];
    return [{ table, id: idOf(operation), ...(isMark(operation) ? { isMark: true } : {}) }];
  });
}

function isMark(operation: Operation): boolean {
  return operation.op === "update" && Object.keys(operation.set).join() === "goneSince";
}

/** The id of the one record that an operation changes; null if it does not name one. */
function idOf(operation: Extract<Operation, { table: string }>): string | null {
  if (operation.op === "update") return operation.id;
  const record: object = "where" in operation ? operation.where : operation.record;
  return "id" in record && typeof record.id === "string" ? record.id : null;
}
