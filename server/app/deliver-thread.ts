/** The deliver thread as the service sees it: the loop of deliveries in a thread of its own. */

import { Worker } from "node:worker_threads";
import type { AllowList } from "../core/address.ts";
import type { CustomerId, DeliveryId } from "../core/id.ts";
import type { DeliverDeps } from "../engine/webhooks/deliver.ts";
import { onWorkerMessage } from "../store/jobs/worker-messages.ts";
import type { CommitObserver, ReceiverChange, StorePorts } from "../store/store.ts";
import type {
  DeliverCall,
  DeliverMessage,
  DeliverReport,
  DeliverRequest,
  DeliverStart,
  DeliverState,
} from "./deliver-messages.ts";
import type { HostedLoop } from "./webhook-loop.ts";

/** Parts of the thread. `lost` is called if it ends by itself. */
export interface DeliverThreadParts extends Omit<DeliverStart, "shared" | "ports"> {
  ports: StorePorts;
  state: DeliverState;
  attempted: DeliverDeps["attempted"];
  goneMarks: DeliverDeps["goneMarks"];
  observer: DeliverDeps["observer"];
  committed: CommitObserver;
  lost: (reason: string) => void;
}

export class DeliverThread implements HostedLoop {
  readonly #parts: DeliverThreadParts;
  readonly #worker: Worker;
  /** Calls without an answer. */
  readonly #pending = new Map<number, { resolve: () => void; reject: (error: Error) => void }>();
  /** Lanes to wake in this turn, and deliveries to try at once. */
  readonly #woken = { lanes: new Set<string>(), atOnce: new Set<DeliveryId>() };
  #lastId = 0;
  #isClosing = false;
  /** Why the thread runs no more; null while it runs. */
  #ended: string | null = null;

  constructor(parts: DeliverThreadParts) {
    const { ports, state, secretKey, settings, loop } = parts;
    this.#parts = parts;
    const file = import.meta.url.endsWith(".ts") ? "./deliver-worker.ts" : "./deliver-worker.js";
    const { webhookConcurrency, webhookRetryScheduleMs } = settings;
    const workerData: DeliverStart = {
      ports,
      shared: state.shared,
      secretKey,
      settings: { webhookConcurrency, webhookRetryScheduleMs },
      loop,
    };
    this.#worker = new Worker(new URL(file, import.meta.url), {
      workerData,
      transferList: [ports.writer, ports.reader],
    });
    onWorkerMessage<DeliverMessage>(this.#worker, (message) => this.#receive(message));
    this.#worker.on("error", (error) => this.#end(error instanceof Error ? error.message : String(error)));
    this.#worker.on("exit", () => this.#end("it stopped"));
  }

  start(): void {
    this.#call(["start"]);
  }

  lagMs(): number {
    return this.#parts.state.lagMs;
  }

  get ended(): number {
    return this.#parts.state.ended;
  }

  /** The thread gets the lanes of one turn of the event loop together. */
  wake(lanes: Iterable<string>, atOnce: readonly DeliveryId[] = []): void {
    const { lanes: woken } = this.#woken;
    const wasEmpty = woken.size === 0;
    for (const lane of lanes) woken.add(lane);
    for (const id of atOnce) this.#woken.atOnce.add(id);
    if (wasEmpty && woken.size > 0) setImmediate(() => this.#sendWoken());
  }

  look(): void {
    this.#call(["look"]);
  }

  /** The database is this process's alone, and so are all lanes for ever. */
  lanesChanged(): void {}

  shardsInUse(): ReadonlySet<number> {
    return new Set();
  }

  drop(customerId: CustomerId): Promise<void> {
    return this.#ask(["drop", customerId]);
  }

  changed(changes: readonly ReceiverChange[]): Promise<void> {
    return this.#ask(["changed", [...changes]]);
  }

  repaired(): void {
    this.#call(["repaired"]);
  }

  allow(list: AllowList): Promise<void> {
    return this.#ask(["allow", list]);
  }

  cutOff(): void {
    this.#call(["cutOff"]);
  }

  stop(): Promise<void> {
    return this.#ask(["stop"]);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#ask(["close"]).catch(() => {});
    await this.#worker.terminate();
  }

  #sendWoken(): void {
    const { lanes, atOnce } = this.#woken;
    this.#call(["wake", [...lanes], [...atOnce]]);
    lanes.clear();
    atOnce.clear();
  }

  #call(call: DeliverCall): void {
    this.#post({ id: null, call });
  }

  #ask(call: DeliverCall): Promise<void> {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      if (this.#ended !== null) return reject(new Error(this.#ended));
      this.#pending.set(id, { resolve, reject });
      this.#post({ id, call });
    });
  }

  #post(request: DeliverRequest): void {
    this.#worker.postMessage(request);
  }

  #receive(message: DeliverMessage): void {
    if ("report" in message) {
      this.#report(message.report);
      return;
    }
    const pending = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (message.error === null) pending?.resolve();
    else pending?.reject(new Error(message.error));
  }

  #report({ attempted, breakersOpen, ended, gone, dueLagsMs, inFlight, outOf, commits, faults }: DeliverReport): void {
    const { observer, attempted: feed, committed, goneMarks } = this.#parts;
    for (const [id, customerId] of attempted) feed.notify(id, customerId);
    for (const [customerId, outcome] of ended) observer.attempted(customerId, outcome);
    for (const mark of gone) goneMarks.report(mark);
    for (const lagMs of dueLagsMs) observer.dueLag(lagMs);
    for (const limit of outOf) observer.outOf(limit);
    for (const group of commits) committed(group);
    for (const { where, error } of faults) observer.fault(where, error);
    observer.inFlight("deliver", inFlight);
    observer.breakersOpen(breakersOpen);
  }

  /** The thread runs no more. */
  #end(reason: string): void {
    if (this.#ended !== null) return;
    this.#ended = reason;
    for (const { reject } of this.#pending.values()) reject(new Error(reason));
    this.#pending.clear();
    if (!this.#isClosing) this.#parts.lost(reason);
  }
}
