/** Removes old records, and all records of a customer, in batches. Erases requests of the log. */

import { firstIdAt } from "../../core/id.ts";
import type { TableName } from "../records.ts";
import type { ErasedRequest, RequestRemoval } from "../store.ts";
import type { DeliveryWriter } from "./delivery-writer.ts";
import type { LeaseEffects } from "./lease-effects.ts";
import type { ReferenceTable } from "./reference-removal.ts";
import type { Statements } from "./statements.ts";

/** Tables from which `reset` removes every record of the customer. */
const RESET_TABLES: readonly TableName[] = [
  "events",
  "replays",
  "chats",
  "contacts",
  "contactAddresses",
  "optOuts",
  "payments",
  "calls",
];

/** Tables with providers' references of a customer's messages. */
const REFERENCES: readonly ReferenceTable[] = ["sendAttempts", "providerReferences"];
/** The most references, of any customers, that one transaction reads. */
const REFERENCES_READ_MAX = 5_000;

/** A table of references, by its index in `REFERENCES`, and the last key that was read there. */
interface ReferencePlace {
  table: number;
  after: readonly [instanceId: string, reference: string];
}

const FIRST_REFERENCE: ReferencePlace = { table: 0, after: ["", ""] };
/** After every key. */
const LAST_KEY = ["\u{10ffff}", ""] as const;

export class RecordRemoval {
  readonly #statements: Statements;
  readonly #deliveries: DeliveryWriter;
  readonly #leaseEffects: LeaseEffects;
  /** For each customer that is being reset, how far the references are read. */
  readonly #resetting = new Map<string, ReferencePlace>();

  constructor(statements: Statements, deliveries: DeliveryWriter, leaseEffects: LeaseEffects) {
    this.#statements = statements;
    this.#deliveries = deliveries;
    this.#leaseEffects = leaseEffects;
  }

  /**
   * Removes old events with their deliveries, idempotency keys, files, arrivals and notes about attempts. Returns how
   * many records it changed, without the deliveries.
   */
  prune(before: number, limit: number): number {
    const old = this.#statements.oldEvents().all(firstIdAt("evt", before), limit) as unknown as string[][];
    for (const [id = ""] of old) {
      this.#statements.deleteDeliveriesOf().run(id);
      this.#statements.delete("events", "id").run(id);
    }
    // Deletes files after the events that mention them.
    const others = [
      this.#statements.deleteOldIdempotency(),
      this.#statements.deleteOldContents(),
      this.#statements.deleteOldArrivals(),
      this.#statements.deleteOldUnnamedAttempts(),
      this.#statements.deleteOldNotes(),
    ];
    return others.reduce((sum, statement) => sum + Number(statement.run(before, limit).changes), old.length);
  }

  /**
   * Removes up to `limit` records of each kind of a customer. Returns 0 when none are left. `begins`: reads all
   * references again, even if an earlier reset has read them.
   */
  reset(customerId: string, limit: number, begins: boolean): number {
    if (begins) this.#resetting.delete(customerId);
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
    removed += Number(this.#statements.changeRequests("removeOf").run(customerId, limit).changes);
    if (removed === 0) this.#resetting.delete(customerId);
    return removed;
  }

  /** Removes requests from the log. Returns how many. */
  removeRequests({ before, oldest, limit }: RequestRemoval): number {
    let removed = Number(this.#statements.changeRequests("removeOld").run(before, limit).changes);
    for (const [customerId, count] of oldest) {
      const left = Math.min(count, limit - removed);
      removed += Number(this.#statements.changeRequests("removeOf").run(customerId, left).changes);
    }
    return removed;
  }

  /** Replaces the texts of logged requests. Overwrites the pages that this frees, so that they hold no former text. */
  eraseRequests(requests: readonly ErasedRequest[]): void {
    this.#statements.overwriteFreed(true);
    try {
      for (const { position, path, request, response } of requests)
        this.#statements.changeRequests("erase").run(position, path, request, response);
    } finally {
      this.#statements.overwriteFreed(false);
    }
  }

  /** Makes every reset read the references again, after a rollback. */
  forget(): void {
    this.#resetting.clear();
  }

  /**
   * References have no index by message. So the first batches read the references of all customers, while this
   * customer's messages still exist. Later batches delete the messages, and references by their key.
   */
  #removeMessages(customerId: string, limit: number): number {
    const messages = this.#statements.someMessagesOf().all(customerId, limit) as unknown as string[][];
    if (messages.length > 0 && this.#removeReferences(customerId)) return 1;
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

  /**
   * Reads the next references of all customers, and removes this customer's. Returns false if all tables were read
   * before.
   */
  #removeReferences(customerId: string): boolean {
    const { table: index, after } = this.#resetting.get(customerId) ?? FIRST_REFERENCE;
    const table = REFERENCES[index];
    if (table === undefined) return false;
    const end = this.#statements.referenceAfter(table).get(...after, REFERENCES_READ_MAX - 1);
    const until = (end ?? LAST_KEY) as unknown as typeof LAST_KEY;
    this.#statements.deleteReferencesOf(table).run(customerId, ...after, ...until);
    const next =
      end === undefined ? { table: index + 1, after: FIRST_REFERENCE.after } : { table: index, after: until };
    this.#resetting.set(customerId, next);
    return true;
  }
}
