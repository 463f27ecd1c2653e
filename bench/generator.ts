/** The load generator, in its own process: keeps connections busy with one request each, and measures the responses. */

import { connect, type Socket } from "node:net";
import { answerParent } from "./child.ts";
import { nowMs } from "./clock.ts";
import { framing } from "./framing.ts";
import { bodyOf, type MessageMix, requestOf } from "./request.ts";

/** A closed loop: each of `connections` sends its next request after the last response. */
export interface Load extends MessageMix {
  port: number;
  /** Used in turn; each key belongs to a customer. */
  keys: readonly string[];
  connections: number;
  /** Not measured, at the start. */
  warmMs: number;
  /** Length of the measurement, or the total number of messages. */
  until: { ms: number } | { messages: number };
}

/** The result of a load; times in milliseconds, instants on the machine's monotonic clock. */
export interface Loaded {
  /** Responses with 202, including the warm-up. */
  accepted: number;
  /** Other responses. */
  refused: number;
  startedAt: number;
  endedAt: number;
  /** In the measured part. */
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

const ACCEPTED = "HTTP/1.1 202";

class Run {
  readonly #load: Load;
  readonly #latencies: number[] = [];
  readonly #startedAt = nowMs();
  readonly #ended: () => void;
  #sent = 0;
  #open: number;
  #accepted = 0;
  #refused = 0;
  #lastAt = 0;

  constructor(load: Load, ended: () => void) {
    this.#load = load;
    this.#ended = ended;
    this.#open = load.connections;
  }

  /** Sends on `socket` until the load is done. */
  drive(socket: Socket): void {
    let sentAt = 0;
    const next = () => {
      const request = this.#next();
      sentAt = nowMs();
      if (request !== null) return void socket.write(request);
      socket.destroy();
      this.#open -= 1;
      if (this.#open === 0) this.#ended();
    };
    const read = framing((head) => {
      this.#note(head, sentAt);
      next();
    });
    socket.on("data", read).on("error", (error) => {
      throw error;
    });
    next();
  }

  #next(): string | null {
    const { until, warmMs, keys } = this.#load;
    const isDone = "messages" in until ? this.#sent >= until.messages : nowMs() > this.#startedAt + warmMs + until.ms;
    if (isDone) return null;
    const index = this.#sent++;
    return requestOf(keys[index % keys.length] ?? "", bodyOf(index, this.#load, `bench-${index}`));
  }

  #note(head: string, sentAt: number): void {
    if (head.startsWith(ACCEPTED)) this.#accepted += 1;
    else this.#refused += 1;
    this.#lastAt = nowMs();
    if (sentAt >= this.#startedAt + this.#load.warmMs) this.#latencies.push(this.#lastAt - sentAt);
  }

  result(): Loaded {
    const sorted = Float64Array.from(this.#latencies).sort();
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
    const measuredMs = this.#lastAt - this.#startedAt - this.#load.warmMs;
    return {
      accepted: this.#accepted,
      refused: this.#refused,
      startedAt: this.#startedAt,
      endedAt: this.#lastAt,
      perSecond: sorted.length / (measuredMs / 1_000),
      p50Ms: at(0.5),
      p99Ms: at(0.99),
    };
  }
}

async function generate(load: Load): Promise<Loaded> {
  const sockets = await Promise.all(Array.from({ length: load.connections }, () => open(load.port)));
  return new Promise((resolve) => {
    const run = new Run(load, () => resolve(run.result()));
    for (const socket of sockets) run.drive(socket);
  });
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, noDelay: true });
    socket.once("connect", () => resolve(socket)).once("error", reject);
  });
}

answerParent(generate);
