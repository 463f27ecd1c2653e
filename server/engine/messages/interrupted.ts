/** Hand-overs that the end of a process interrupted: while their provider is asked about them, what follows to the same recipient waits. */

import type { MessageId } from "../../core/id.ts";
import { type Message, pairOf } from "../../core/message.ts";
import { type InterruptedMessage, listInterrupted } from "../../store/messages.ts";
import type { WaitingPair } from "../../store/store.ts";
import type { Deps } from "../deps.ts";
import type { RunResult } from "../lanes.ts";

/** How long what follows waits at the most, in shifted milliseconds. */
const WAIT_MS_MAX = 60_000;

/** What the messages of one pair wait for. */
interface Wait {
  from: string;
  to: string;
  /** Hand-overs that the provider is asked about, or that are to be made again before what follows them. */
  asked: Set<MessageId>;
  endsAt: number;
}

/** Pairs with interrupted hand-overs, from the start of the process on. */
export class Interrupted {
  readonly #deps: Deps;
  readonly #waits = new Map<string, Wait>();
  #loading: Promise<void> | null = null;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Reads, once, what the last process left; must resolve before the first message is claimed. */
  load(): Promise<void> {
    this.#loading ??= this.#read().catch((error: unknown) => {
      this.#loading = null;
      throw error;
    });
    return this.#loading;
  }

  /** Pairs of which nothing new is claimed now: what follows keeps its place, and goes out in the order of acceptance. */
  waiting(): WaitingPair[] {
    const now = this.#deps.clock.now();
    for (const [pair, { endsAt }] of this.#waits) if (now >= endsAt) this.#waits.delete(pair);
    return [...this.#waits.values()].map(({ from, to, asked }) => ({ from, to, except: [...asked] }));
  }

  /**
   * A message was looked at. What follows an interrupted one goes on when its outcome is known, or, if it was provably not
   * sent, once it has been handed over again.
   */
  looked(message: Message, result: RunResult): void {
    if (message.status === "pending") {
      const isQueued = this.#deps.messageCache.get(message.id)?.status === "queued";
      if (result !== "good" || isQueued) return;
    }
    const pair = pairOf(message);
    const wait = this.#waits.get(pair);
    if (wait?.asked.delete(message.id) === true && wait.asked.size === 0) this.#waits.delete(pair);
  }

  async #read(): Promise<void> {
    const { clock, configCache, providers, store } = this.#deps;
    const now = clock.now();
    for (const { id } of await configCache.instances()) {
      // Nobody can be asked: there is nothing to wait for.
      if (providers.get(id)?.reconcile === undefined) continue;
      for (const message of await listInterrupted(store.db, id, { now, withinMs: WAIT_MS_MAX }))
        this.#add(message, now);
    }
  }

  #add(message: InterruptedMessage, now: number): void {
    const { id, from, to, unknownSince } = message;
    const wait = this.#waits.get(pairOf(message)) ?? { from, to, asked: new Set(), endsAt: now };
    wait.asked.add(id);
    wait.endsAt = Math.max(wait.endsAt, (unknownSince ?? now) + WAIT_MS_MAX);
    this.#waits.set(pairOf(message), wait);
  }
}
