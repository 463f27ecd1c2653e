/** Handles the messages from one number to one recipient in the order of their claims, also across lanes. Lookups have no place in it. */

import type { Clock } from "../../clock.ts";
import type { MessageId } from "../../core/id.ts";
import { type Message, pairOf } from "../../core/message.ts";
import { isRefusedForNow } from "../commit.ts";
import type { RunResult } from "../run-result.ts";
import { isPlain, type SendProgress } from "./prepare.ts";

/**
 * A message holds its permit for this long at most, in real milliseconds. A send attempt may take minutes, and so may the
 * wait behind an earlier message to the same recipient; neither keeps other messages waiting.
 */
const PERMIT_MS = 40_000;

/** Releases the permit of a message that goes on without it. */
export type ReleasePermit = (result: RunResult) => void;

/** A message in progress, as the next one of its pair sees it. */
interface Predecessor {
  lane: string;
  /** Resolves when the attempt of the next message may begin: this one has ended, or its own attempt begins and its provider takes runs. */
  begun: Promise<unknown>;
  /** Resolves when the next message may be given to its provider: this one was, or has ended. */
  given: Promise<unknown>;
  /** Resolves when the next message may be handled: this one has ended, or its provider accepted it and the outcome is being committed. */
  passed: Promise<unknown>;
  /** Whether it has used up its permit's time. */
  isLate: boolean;
  /** Whether the store refused it for now, or one before it: it stays in the queue, and so do those behind it. */
  isRefused: boolean;
}

const NOW = Promise.resolve();
/** The progress of a lookup, for which nobody waits. */
const UNWAITED: SendProgress = { turn: NOW, begins: () => {}, given: () => {}, accepted: () => {} };
const NOBODY: Predecessor = { lane: "", begun: NOW, given: NOW, passed: NOW, isLate: false, isRefused: false };

export class PairOrder {
  readonly #clock: Clock;
  /** The last message in progress of each pair. */
  readonly #last = new Map<string, Predecessor>();
  /** The end of the last run in progress of each message. */
  readonly #runs = new Map<MessageId, Promise<unknown>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The lane of the last message in progress of a pair, lookups aside; undefined if there is none. */
  laneOf(pair: string): string | undefined {
    return this.#last.get(pair)?.lane;
  }

  /**
   * Handles a message after the earlier ones of its pair; a lookup, which sends nothing, beside them. If the store refused one of them for
   * now, it is left to a later claim.
   */
  async run(
    message: Message,
    release: ReleasePermit,
    handle: (progress: SendProgress) => Promise<RunResult>,
  ): Promise<RunResult> {
    // A lookup asks about an attempt that may not have ended here, and the next attempt follows the lookup.
    const earlier = this.#runs.get(message.id);
    const begin = async (progress: SendProgress) => {
      if (earlier !== undefined) await earlier;
      return await handle(progress);
    };
    const handled =
      message.status === "pending" ? this.#lookUp(release, begin) : this.#runInOrder(message, release, begin);
    const ended = handled.catch(() => {});
    this.#runs.set(message.id, ended);
    try {
      return await handled;
    } finally {
      if (this.#runs.get(message.id) === ended) this.#runs.delete(message.id);
    }
  }

  async #lookUp(release: ReleasePermit, handle: (progress: SendProgress) => Promise<RunResult>): Promise<RunResult> {
    const stopTimer = this.#clock.after(PERMIT_MS, () => release("bad"));
    try {
      return await handle(UNWAITED);
    } finally {
      stopTimer();
    }
  }

  async #runInOrder(
    message: Message,
    release: ReleasePermit,
    handle: (progress: SendProgress) => Promise<RunResult>,
  ): Promise<RunResult> {
    const pair = pairOf(message);
    const before = this.#last.get(pair) ?? NOBODY;
    const [begun, given, passed] = [withResolvers(), withResolvers(), withResolvers()];
    const accepted = () => {
      begun.resolve();
      passed.resolve();
    };
    const end = () => {
      accepted();
      given.resolve();
    };
    const mayJoin = message.status === "queued" && isPlain(message) && before.lane === message.instanceId;
    const own: Predecessor = {
      lane: message.instanceId,
      begun: begun.promise,
      given: given.promise,
      passed: passed.promise,
      isLate: false,
      isRefused: false,
    };
    const handled = (mayJoin ? before.begun : before.passed).then((): RunResult | Promise<RunResult> => {
      own.isRefused = before.isRefused;
      if (own.isRefused) return "bad";
      return handle({ turn: before.given, begins: begun.resolve, given: given.resolve, accepted });
    });
    void handled.then(end, (error: unknown) => {
      own.isRefused = isRefusedForNow(error);
      end();
    });
    this.#last.set(pair, own);
    // Behind a late message the wait may take minutes, and would keep a permit from other messages.
    const stopTimer = this.#clock.after(before.isLate ? 0 : PERMIT_MS, () => {
      own.isLate = true;
      release("bad");
    });
    try {
      return await handled;
    } finally {
      stopTimer();
      if (this.#last.get(pair) === own) this.#last.delete(pair);
    }
  }
}

function withResolvers() {
  return Promise.withResolvers<void>();
}
