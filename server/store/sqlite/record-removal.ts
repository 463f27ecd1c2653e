/** Removes records of the writer's tables in batches: old ones, and all of a customer. */

import { firstIdAt } from "../../core/id.ts";
import type { TableName } from "../records.ts";
import type { DeliveryWriter } from "./delivery-writer.ts";
import type { LeaseEffects } from "./lease-effects.ts";
import type { Statements } from "./statements.ts";

/** Tables from which `reset` removes every record of the customer. */
const RESET_TABLES: readonly TableName[] = [
  "events",
  "chats",
  "contacts",
  "contactAddresses",
  "optOuts",
  "payments",
  "calls",
];

/** Tables with providers' references of a customer's messages. */
const REFERENCES = ["sendAttempts", "providerReferences"] as const;

export class RecordRemoval {
  readonly #statements: Statements;
  readonly #deliveries: DeliveryWriter;
  readonly #leaseEffects: LeaseEffects;
  /** Customers that are being reset and whose provider references are removed already. */
  readonly #resetting = new Set<string>();

  constructor(statements: Statements, deliveries: DeliveryWriter, leaseEffects: LeaseEffects) {
    this.#statements = statements;
    this.#deliveries = deliveries;
    this.#leaseEffects = leaseEffects;
  }

  /** Removes old events with their deliveries, idempotency keys, files, arrivals and notes about attempts. Returns how many records. */
  prune(before: number, limit: number): number {
    const old = this.#statements.oldEvents().all(firstIdAt("evt", before), limit) as unknown as string[][];
    for (const [id = ""] of old) {
      this.#statements.deleteDeliveriesOf().run(id);
      this.#statements.delete("events", "id").run(id);
    }
    // Files go after the events that mention them.
    const others = [
      this.#statements.deleteOldIdempotency(),
      this.#statements.deleteOldContents(),
      this.#statements.deleteOldArrivals(),
      this.#statements.deleteOldUnnamedAttempts(),
      this.#statements.deleteOldNotes(),
    ];
    return others.reduce((sum, statement) => sum + Number(statement.run(before, limit).changes), old.length);
  }

  /** Removes some records of each kind of a customer. Returns how many. */
  reset(customerId: string, limit: number): number {
    const deliveries = this.#statements.someDeliveriesOf().all(customerId, limit) as unknown as [string, number][];
    for (const [id, row] of deliveries) {
      this.#statements.deleteDelivery().run(row);
      this.#deliveries.removed(id);
    }
    let removed = deliveries.length + this.#removeMessages(customerId, limit);
    for (const table of RESET_TABLES) {
      removed += Number(this.#statements.deleteSome(table, "customerId").run(customerId, limit).changes);
    }
    removed += Number(this.#statements.deleteSome("idempotency", "scope").run(customerId, limit).changes);
    if (removed === 0) this.#resetting.delete(customerId);
    return removed;
  }

  /** References have no index by message: the first batch removes all there are, later ones go by their key. */
  #removeMessages(customerId: string, limit: number): number {
    const messages = this.#statements.someMessagesOf().all(customerId, limit) as unknown as string[][];
    if (messages.length > 0 && !this.#resetting.has(customerId)) {
      for (const table of REFERENCES) this.#statements.deleteReferencesOf(table).run(customerId);
      this.#resetting.add(customerId);
    }
    for (const [id = "", instanceId = "", reference = ""] of messages) {
      this.#statements.delete("contents", "messageId").run(id);
      for (const table of REFERENCES) {
        this.#statements.delete(table, "instanceId,reference").run(instanceId, reference);
      }
      this.#statements.deleteUnnamedAttempts().run(instanceId, id);
      this.#statements.delete("messages", "id").run(id);
      this.#leaseEffects.removed(id);
    }
    return messages.length;
  }
}
