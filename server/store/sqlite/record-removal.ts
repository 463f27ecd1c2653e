/** Removes records of the writer's tables in batches: old ones, and all of a customer. Erases requests of the log. */

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
/** References of any customer that one transaction reads. */
const REFERENCES_READ_MAX = 5_000;

/** A table of references, by its place in `REFERENCES`, and the key after which it is not read yet. */
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
  /** Customers that are being reset, and how far their provider references are removed. */
  readonly #resetting = new Map<string, ReferencePlace>();

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

  /** Removes some records of each kind of a customer. Returns how many. `begins`: what an earlier reset has read is read again. */
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

  /** Replaces texts of requests of the log, so that the former ones are not in pages that this frees. */
  eraseRequests(requests: readonly ErasedRequest[]): void {
    this.#statements.overwriteFreed(true);
    try {
      for (const { position, path, request, response } of requests)
        this.#statements.changeRequests("erase").run(position, path, request, response);
    } finally {
      this.#statements.overwriteFreed(false);
    }
  }

  /** Begins every reset again: a transaction was rolled back. */
  forget(): void {
    this.#resetting.clear();
  }

  /**
   * References have no index by message: the first batches read all references of any customer, while the messages of this one
   * still exist, and later ones go by their key.
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

  /** Removes the customer's references among the next ones of any customer. Returns whether it found some to read. */
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
