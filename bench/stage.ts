/** Shared by all benchmarks: their options, the processes beside the service, a directory for data. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Posting } from "./bare-sender.ts";
import type { BareQuestion } from "./bare-server.ts";
import { Child } from "./child.ts";
import { waitFor } from "./clock.ts";
import type { Load, Loaded } from "./generator.ts";
import type { Received, ReceiverQuestion } from "./receiver.ts";
import { type Service, type ServiceOptions, startService } from "./service.ts";

/** Sizes of the measurements. */
export interface Extent {
  /** Rounds of each side, alternating; their medians count. */
  rounds: number;
  /** Measured in each round, in milliseconds. */
  roundMs: number;
  /** Discarded start of a round, in milliseconds. */
  warmMs: number;
  /** Length of the latency run, in seconds. */
  latencySeconds: number;
  /** Messages of a round measured from its first request to its last webhook. */
  messages: number;
  /** Deliveries that wait in the run with a backlog. */
  waiting: number;
  /** Messages of one customer in the run of reads. */
  listed: number;
  /** Messages of the larger database in the run of lists. */
  stored: number;
  /** Length of each part of the run of reads, in milliseconds. */
  readsMs: number;
}

/** Connections of the load generator (the goals are for 64). */
export const CONNECTIONS = 64;

/** The processes and places of one run. */
export class Stage {
  readonly extent: Extent;
  readonly generator = new Child<Load, Loaded>("./generator.ts");
  readonly receiver = new Child<ReceiverQuestion, Received>("./receiver.ts");
  readonly bareServer = new Child<BareQuestion, number>("./bare-server.ts");
  readonly bareSender = new Child<Posting, number>("./bare-sender.ts");
  readonly directory: string;
  readonly #services = new Set<Service>();
  #barePort: number | null = null;

  constructor(extent: Extent, parent: string = tmpdir()) {
    this.extent = extent;
    this.directory = mkdtempSync(join(parent, "tightbeam-bench-"));
  }

  /** A service with its data under `name`; stopped with the stage at the latest. */
  async start(name: string, options: Omit<ServiceOptions, "dataDir"> = {}): Promise<Service> {
    const service = await startService({ ...options, dataDir: this.dataDir(name) });
    this.#services.add(service);
    return service;
  }

  dataDir(name: string): string {
    return join(this.directory, name);
  }

  async barePort(): Promise<number> {
    this.#barePort ??= await this.bareServer.ask("port");
    return this.#barePort;
  }

  /** The receiver's address. */
  async webhookUrl(path = "hook"): Promise<string> {
    return `http://127.0.0.1:${(await this.receiver.ask("ports")).port}/${path}`;
  }

  /** Resets the count of webhooks. */
  async resetReceived(): Promise<void> {
    await this.receiver.ask("reset");
  }

  /** Waits until `count` webhooks came since the reset, and returns when the last of them came. */
  async received(count: number, limitMs: number): Promise<number> {
    let got = await this.receiver.ask("count");
    const arrived = async () => {
      got = await this.receiver.ask("count");
      return got.count >= count;
    };
    await waitFor(`${count} webhooks arrive`, arrived, { limitMs });
    return got.lastAt;
  }

  /** Ends everything, and deletes its files. */
  async close(): Promise<void> {
    for (const service of this.#services) await service.stop();
    for (const child of [this.generator, this.receiver, this.bareServer, this.bareSender]) child.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
