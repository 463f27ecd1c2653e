/**
 * The network between the service and its receivers: late, lossy, with receivers of every kind. Records every request.
 */

import type { Clock } from "../../server/clock.ts";
import type { PostError, Poster, PostRequest, PostResult } from "../../server/outgoing/post.ts";
import type { Chance } from "./chance.ts";
import type { Life } from "./life.ts";

/** One webhook request, as the network saw it. */
export interface Sending {
  /** Position among everything that was observed. */
  order: number;
  life: number;
  url: string;
  body: string;
  headers: Record<string, string>;
  /** Shifted and real time of its start. */
  at: number;
  real: number;
  /** Whether the request reached the receiver. */
  arrived: boolean;
  /** Status of the receiver's response, whether or not the service got it. */
  answered: number | null;
  /** The result that the service got; null if the service died first. */
  posted: PostResult | null;
  /** Shifted time and position of its end. */
  endedAt: number | null;
  endedOrder: number | null;
  /** Requests in flight to the same address when it began, including itself. */
  abreast: number;
}

/** Receivers, named by how they behave. */
export const RECEIVERS = ["steady", "flaky", "dead", "slow", "rude", "outage"] as const;
type ReceiverName = (typeof RECEIVERS)[number];

/** Address of a path at a receiver. */
export function receiverUrl(name: ReceiverName, path: string): string {
  return `https://${name}.example.com/${path}`;
}

/** The fate of one webhook request: answered, or cut off with an error before or after it arrived. */
type Fate = { afterMs: number } & ({ status: number } | { error: PostError; arrives: boolean });

const DEADLINE_MS = 30_000;
/** Most requests that hang until the deadline in one run: each blocks its lane for half a minute. */
const HANGS_MAX = 4;
/** Length of a receiver's outage and of the time between two, in shifted milliseconds. */
const OUTAGE_EVERY_MS = 60_000;

export interface NetworkParts {
  clock: Clock;
  chance: Chance;
  /** Returns the next position among everything that was observed. */
  order(): number;
}

export class Network {
  readonly sendings: Sending[] = [];
  readonly #parts: NetworkParts;
  readonly #abreast = new Map<string, number>();
  #hangs = 0;
  #calm = false;

  constructor(parts: NetworkParts) {
    this.#parts = parts;
  }

  /** From now on only the receivers that are down for good fail. */
  calm(): void {
    this.#calm = true;
  }

  /** Requests in flight. */
  get underWay(): number {
    return [...this.#abreast.values()].reduce((sum, count) => sum + count, 0);
  }

  /** A poster for one life. `inbox` posts to the service's own inbox, by path. `close` ends open requests. */
  poster(life: Life, inbox: (request: PostRequest) => Promise<{ status: number; body: string }>) {
    const open = new Set<() => void>();
    let closed = false;
    return {
      post: (request: PostRequest): Promise<PostResult> => {
        if (closed) return Promise.resolve(failed("STOPPED", 0));
        return new Promise((resolve) => {
          const sending = this.#begin(life, request);
          const end = (posted: PostResult) => {
            if (!open.delete(stop) || !life.alive) return;
            sending.posted = posted;
            sending.endedAt = this.#parts.clock.now();
            sending.endedOrder = this.#parts.order();
            resolve(posted);
          };
          const stop = () => end(failed("STOPPED", this.#since(sending)));
          open.add(stop);
          void this.#carry(life, sending, request, inbox).then(end);
        });
      },
      close() {
        closed = true;
        for (const stop of open) stop();
      },
    } satisfies Pick<Poster, "post"> & { close(): void };
  }

  #begin(life: Life, { url, body, headers }: PostRequest): Sending {
    const abreast = (this.#abreast.get(url) ?? 0) + 1;
    this.#abreast.set(url, abreast);
    const sending: Sending = {
      order: this.#parts.order(),
      life: life.number,
      url,
      body: String(body),
      headers,
      at: this.#parts.clock.now(),
      real: this.#parts.clock.real(),
      arrived: false,
      answered: null,
      posted: null,
      endedAt: null,
      endedOrder: null,
      abreast,
    };
    this.sendings.push(sending);
    return sending;
  }

  async #carry(
    life: Life,
    sending: Sending,
    request: PostRequest,
    inbox: (request: PostRequest) => Promise<{ status: number; body: string }>,
  ): Promise<PostResult> {
    try {
      if (request.trusted === true) return await this.#toInbox(life, sending, request, inbox);
      const fate = this.#fateOf(request.url);
      const towardsMs = Math.floor(fate.afterMs * this.#parts.chance.next());
      await this.#wait(towardsMs);
      // A request of a process that has since died may or may not arrive.
      const lost = !life.alive && this.#parts.chance.flip(0.5);
      sending.arrived = !lost && ("status" in fate || fate.arrives);
      await this.#wait(fate.afterMs - towardsMs);
      if (!("status" in fate)) return failed(fate.error, this.#since(sending));
      if (sending.arrived) sending.answered = fate.status;
      return answered(fate.status, `answered ${fate.status}`, this.#since(sending));
    } finally {
      this.#abreast.set(request.url, (this.#abreast.get(request.url) ?? 1) - 1);
    }
  }

  async #toInbox(
    life: Life,
    sending: Sending,
    request: PostRequest,
    inbox: (request: PostRequest) => Promise<{ status: number; body: string }>,
  ): Promise<PostResult> {
    const dead = life.death.then(() => null);
    const answer = await Promise.race([inbox(request), dead]);
    if (answer === null) return failed("CONNECTION_RESET", this.#since(sending));
    sending.arrived = true;
    sending.answered = answer.status;
    return answered(answer.status, answer.body, this.#since(sending));
  }

  #since({ real }: Sending): number {
    return this.#parts.clock.real() - real;
  }

  #wait(ms: number): Promise<void> {
    if (ms <= 0) return Promise.resolve();
    return new Promise((resolve) => void this.#parts.clock.after(ms, resolve));
  }

  #fateOf(url: string): Fate {
    const { chance, clock } = this.#parts;
    const name = new URL(url).hostname.split(".")[0] as ReceiverName;
    const quickMs = chance.between(0, 30);
    if (name === "dead") return chance.flip(0.5) ? { status: 500, afterMs: quickMs } : refused(quickMs);
    if (name === "slow" && !this.#calm) return { status: 200, afterMs: chance.between(200, 12_000) };
    if (this.#calm || name === "steady") return { status: 200, afterMs: quickMs };
    if (name === "outage") {
      const isOut = Math.floor(clock.now() / OUTAGE_EVERY_MS) % 2 === 1;
      return isOut ? refused(quickMs) : { status: 200, afterMs: quickMs };
    }
    if (name === "flaky" && chance.flip(0.6)) return { status: 204, afterMs: quickMs };
    return this.#mishap(quickMs);
  }

  #mishap(afterMs: number): Fate {
    const { chance } = this.#parts;
    const kind = chance.weighted({ status: 5, lost: 3, cut: 3, refused: 2, hang: 1 });
    if (kind === "status") return { status: chance.pick([301, 302, 400, 404, 410, 429, 500, 503]), afterMs };
    if (kind === "hang" && this.#hangs < HANGS_MAX) {
      this.#hangs += 1;
      return { error: "TIMEOUT", arrives: chance.flip(0.5), afterMs: DEADLINE_MS };
    }
    if (kind === "cut") return { error: "CONNECTION_RESET", arrives: true, afterMs };
    return kind === "lost" ? { error: "CONNECTION_RESET", arrives: false, afterMs } : refused(afterMs);
  }
}

function refused(afterMs: number): Fate {
  return { error: "CONNECTION_REFUSED", arrives: false, afterMs };
}

function failed(error: PostError, durationMs: number): PostResult {
  return {
    status: null,
    durationMs,
    response: null,
    error,
    connected: error === "TIMEOUT",
    timedOut: error === "TIMEOUT",
    isPrivate: false,
  };
}

function answered(status: number, response: string, durationMs: number): PostResult {
  return { status, durationMs, response, error: null, connected: true, timedOut: false, isPrivate: false };
}
