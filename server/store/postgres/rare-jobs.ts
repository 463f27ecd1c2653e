/** Rare jobs of the writer. Each has an SQL transaction of its own, and waits for replies between its statements. */

import type { WritingJob } from "../jobs/jobs.ts";
import type { RecheckResult, RowKey } from "../store.ts";
import { partsOfMended, RESET_PARTS, raiseVersions } from "./config-versions.ts";
import type { DeliveryQueue } from "./delivery-queue.ts";
import { changeRouting, customersOfEndpoints } from "./endpoint-cache.ts";
import { endMember } from "./member-leases.ts";
import { endMessageLeases, releaseMessageLeases } from "./message-leases.ts";
import { cancelDeliveries } from "./outcomes.ts";
import type { Partitions } from "./partitions.ts";
import { addToQuarantine, recheck } from "./quarantine.ts";
import { CustomerReset, prune, removeRequests } from "./removal.ts";
import { eraseRequests, logRequests } from "./request-rows.ts";
import type { Sql } from "./sql.ts";
import { lockOf } from "./transaction-runner.ts";

export class RareJobs {
  readonly #owner: string;
  readonly #deliveries: DeliveryQueue;
  readonly #held: () => Partitions["held"];
  readonly #reset = new CustomerReset();

  /** `owner`: the name of this process in its leases. `held`: the partitions that are not dropped yet. */
  constructor(owner: string, deliveries: DeliveryQueue, held: () => Partitions["held"]) {
    this.#owner = owner;
    this.#deliveries = deliveries;
    this.#held = held;
  }

  /** An SQL transaction was rolled back. */
  forget(): void {
    this.#reset.forget();
  }

  /** Does a job. */
  async do(sql: Sql, job: WritingJob): Promise<unknown> {
    switch (job[0]) {
      case "commit":
      case "commitAll":
      case "finishDeliveries":
      case "addUsage":
      case "probe":
        throw new Error(`${job[0]} is no rare job`);
      case "releaseLeases":
        return releaseMessageLeases(sql, { until: job[1], now: job[2], member: this.#owner });
      case "endMember":
        await endMember(sql, job[1]);
        await endMessageLeases(sql, job[1], job[2]);
        return null;
      case "cancelDeliveries": {
        const { ids, count } = await cancelDeliveries(sql, job[1], job[2], job[3]);
        this.#deliveries.gone(ids);
        return count;
      }
      case "prune":
        return prune(sql, this.#held(), job[1], job[2]);
      case "reset":
        return this.#resetCustomer(sql, job);
      case "logRequests":
        return logRequests(sql, job[1]);
      case "removeRequests":
        return removeRequests(sql, job[1]);
      case "eraseRequests":
        await eraseRequests(sql, job[1]);
        return null;
      case "quarantine":
        await addToQuarantine(sql, job[1]);
        this.#deliveries.gone(job[1].flatMap(({ table, id }) => (table === "deliveries" ? [id] : [])));
        return null;
      case "recheck":
        return this.#recheck(sql, job[1], job[2], job[3]);
    }
  }

  /** Removes records of a customer. Other processes learn that opt-outs and threads may be among them. */
  async #resetCustomer(sql: Sql, [, customerId, limit, begins]: Extract<WritingJob, ["reset", ...unknown[]]>) {
    await sql.values(lockOf([customerId]));
    const removed = await this.#reset.reset(sql, customerId, limit, begins);
    if (removed > 0) await raiseVersions(sql, RESET_PARTS);
    return removed;
  }

  /** Rechecks the quarantine. Other processes learn that rows left it, and which parts of their configuration were read without those rows. */
  async #recheck(sql: Sql, after: RowKey | null, limit: number, now: number): Promise<RecheckResult> {
    const rechecked = await recheck(sql, after, limit, now);
    const endpoints = rechecked.mended.flatMap(({ table, id }) => (table === "endpoints" ? [id] : []));
    if (endpoints.length > 0) await changeRouting(sql, await customersOfEndpoints(sql, endpoints));
    await raiseVersions(sql, partsOfMended(rechecked.mended.map(({ table }) => table)));
    if (rechecked.mended.length > 0) this.#deliveries.rescan();
    return rechecked;
  }
}
