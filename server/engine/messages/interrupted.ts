/** Hand-overs that the end of a process interrupted: while their provider is asked about them, what follows to the same recipient waits. */

import type { MessageId } from "../../core/id.ts";
import { type Message, pairOf } from "../../core/message.ts";
import { postpone } from "../../core/message-waiting.ts";
import { listInterrupted } from "../../store/messages.ts";
import type { Context } from "../context.ts";
import type { RunResult } from "../lanes.ts";
import { changeMessage } from "./change-message.ts";
import { isHeld } from "./lease.ts";

/** How long what follows waits at the most, in shifted milliseconds (contract 3). */
const WAIT_MS_MAX = 60_000;
/** How often what follows is looked at again, in shifted milliseconds. */
const LOOK_EVERY_MS = 1_000;

/** What the messages of one pair wait for. */
interface Wait {
  /** Hand-overs that the provider is asked about. */
  asked: Set<MessageId>;
  endsAt: number;
  /** Whatever of the pair is looked at before this waits until then, so that all of it goes on together and in order. */
  untilAt: number;
}

/** Pairs with interrupted hand-overs, from the start of the process on. */
export class Interrupted {
  readonly #context: Context;
  readonly #waits = new Map<string, Wait>();
  #loading: Promise<void> | null = null;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Reads, once, what the last process left; must resolve before the first message is claimed. */
  load(): Promise<void> {
    this.#loading ??= this.#read().catch((error: unknown) => {
      this.#loading = null;
      throw error;
    });
    return this.#loading;
  }

  /**
   * A message was looked at. What follows an interrupted one goes on when its outcome is known, or, if it was provably not
   * sent, once it has been handed over again.
   */
  looked(message: Message, result: RunResult): void {
    if (message.status === "pending") {
      const isQueued = this.#context.recent.get(message.id)?.status === "queued";
      if (result !== "good" || isQueued) return;
    }
    this.#waits.get(pairOf(message))?.asked.delete(message.id);
  }

  /** Puts a leased message off that follows an interrupted one. Answers whether it did, and that is on disk. */
  async holds(message: Message): Promise<boolean> {
    const pair = pairOf(message);
    const wait = this.#waits.get(pair);
    if (wait === undefined || wait.asked.has(message.id)) return false;
    const { clock } = this.#context;
    const now = clock.now();
    if (now >= wait.untilAt) {
      if (wait.asked.size === 0 || now >= wait.endsAt) {
        this.#waits.delete(pair);
        return false;
      }
      wait.untilAt = Math.min(now + LOOK_EVERY_MS, wait.endsAt);
    }
    const { untilAt } = wait;
    const reason = "the provider is being asked about the message before it";
    await changeMessage(this.#context, message, (fresh) => {
      if (!isHeld(fresh, message) || fresh.status !== "queued") return null;
      return { message: postpone(fresh, reason, untilAt, now), events: [] };
    });
    return true;
  }

  async #read(): Promise<void> {
    const { clock, known, providers, store } = this.#context;
    const now = clock.now();
    for (const { id } of await known.instances()) {
      // Nobody can be asked: there is nothing to wait for.
      if (providers.get(id)?.settle === undefined) continue;
      for (const message of await listInterrupted(store.db, id, now)) this.#add(message, now);
    }
  }

  #add(message: Pick<Message, "id" | "from" | "to">, now: number): void {
    const pair = pairOf(message);
    const wait = this.#waits.get(pair) ?? { asked: new Set(), endsAt: now + WAIT_MS_MAX, untilAt: now };
    wait.asked.add(message.id);
    this.#waits.set(pair, wait);
  }
}
