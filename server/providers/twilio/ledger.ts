/** Which message of ours is which at Twilio: every hand-over with its sid, kept in the instance's durable memory, bounded. */

import type { Clock } from "../../clock.ts";
import type { MessageId } from "../../core/id.ts";
import type { Memory } from "../provider.ts";

/** One hand-over that Twilio took. */
export interface HandOver {
  readonly messageId: MessageId;
  /** When it was recorded, as `Outbound.attemptedAt` has it: tells the hand-overs of one message apart. */
  readonly attemptedAt: number;
  readonly sid: string;
  /** Real epoch milliseconds. */
  readonly knownSince: number;
  /** Rank of the highest receipt that was told; 0 before the first, and again after a restart. */
  told: number;
  /** Nothing more is expected of it. */
  hasEnded: boolean;
}

const PREFIX = "sent/";
/** Hand-overs remembered; beyond it the oldest is forgotten, and no longer asked about. */
const KEPT_MAX = 100_000;
/** One that has ended is remembered for so long, real: so that `settle` does not take it for another of the same text. */
const KEPT_MS = 900_000;
const SWEEP_MS = 60_000;

/** Told by the ledger, so that the one who asks about hand-overs knows of them all. */
export interface LedgerEvents {
  /** A hand-over that has not ended is known; `isOld`: since a process before this one. */
  added(handOver: HandOver, isOld: boolean): void;
  removed(handOver: HandOver): void;
}

/** Remembers hand-overs. `stop` ends its sweeping. */
export class Ledger {
  readonly #memory: Memory;
  readonly #clock: Clock;
  readonly #events: LedgerEvents;
  readonly #keptMax: number;
  /** Oldest first. */
  readonly #byKey = new Map<string, HandOver>();
  readonly #bySid = new Map<string, HandOver>();
  #stopSweep = () => {};
  #stopped = false;

  constructor(given: { memory: Memory; clock: Clock; events: LedgerEvents; keptMax?: number }) {
    this.#memory = given.memory;
    this.#clock = given.clock;
    this.#events = given.events;
    this.#keptMax = given.keptMax ?? KEPT_MAX;
  }

  /** Takes up what the processes before left. */
  async load(): Promise<void> {
    const entries = await this.#memory.list(PREFIX);
    const read = entries.map(({ key, value }) => ({ key, handOver: parseEntry(key, value) }));
    read.sort((a, b) => (a.handOver?.knownSince ?? 0) - (b.handOver?.knownSince ?? 0));
    for (const { key, handOver } of read) {
      if (handOver === null) void this.#forget(key);
      else if (!this.#byKey.has(key)) this.#add(key, handOver, true);
    }
    this.#sweepLater();
  }

  find(messageId: MessageId, attemptedAt: number): HandOver | null {
    return this.#byKey.get(keyOf(messageId, attemptedAt)) ?? null;
  }

  withSid(sid: string): HandOver | null {
    return this.#bySid.get(sid) ?? null;
  }

  /** Remembers that a hand-over has this sid; resolves when that is on disk. What is known already is not written again. */
  async note(messageId: MessageId, attemptedAt: number, sid: string): Promise<HandOver> {
    const key = keyOf(messageId, attemptedAt);
    const known = this.#byKey.get(key);
    if (known?.sid === sid) return known;
    const knownSince = this.#clock.real();
    const handOver: HandOver = { messageId, attemptedAt, sid, knownSince, told: 0, hasEnded: false };
    await this.#memory.put(key, entryText(handOver));
    const meanwhile = this.#byKey.get(key);
    if (meanwhile?.sid === sid) return meanwhile;
    if (meanwhile !== undefined) this.#remove(key, meanwhile);
    if (!this.#stopped) this.#add(key, handOver, false);
    return handOver;
  }

  /** Nothing more is expected of it. What could not be written is asked about once more after a restart. */
  async end(handOver: HandOver): Promise<void> {
    if (handOver.hasEnded) return;
    handOver.hasEnded = true;
    this.#events.removed(handOver);
    const key = keyOf(handOver.messageId, handOver.attemptedAt);
    if (this.#byKey.get(key) !== handOver) return;
    if (this.#isOver(handOver)) await this.#drop(key, handOver);
    else await this.#memory.put(key, entryText(handOver)).catch(() => {});
  }

  stop(): void {
    this.#stopped = true;
    this.#stopSweep();
  }

  #add(key: string, handOver: HandOver, isOld: boolean): void {
    this.#byKey.set(key, handOver);
    this.#bySid.set(handOver.sid, handOver);
    if (!handOver.hasEnded) this.#events.added(handOver, isOld);
    for (const [oldest, one] of this.#byKey) {
      if (this.#byKey.size <= this.#keptMax) break;
      void this.#drop(oldest, one);
    }
  }

  #remove(key: string, handOver: HandOver): void {
    this.#byKey.delete(key);
    if (this.#bySid.get(handOver.sid) === handOver) this.#bySid.delete(handOver.sid);
    if (!handOver.hasEnded) this.#events.removed(handOver);
  }

  #drop(key: string, handOver: HandOver): Promise<void> {
    this.#remove(key, handOver);
    return this.#forget(key);
  }

  /** What cannot be deleted now is found by the next process. */
  #forget(key: string): Promise<void> {
    return this.#memory.delete(key).catch(() => {});
  }

  #isOver({ hasEnded, knownSince }: HandOver): boolean {
    return hasEnded && this.#clock.real() - knownSince >= KEPT_MS;
  }

  #sweepLater(): void {
    if (this.#stopped) return;
    this.#stopSweep = this.#clock.after(SWEEP_MS, () => void this.#sweep());
  }

  async #sweep(): Promise<void> {
    for (const [key, handOver] of [...this.#byKey]) {
      if (this.#clock.real() - handOver.knownSince < KEPT_MS) break;
      if (handOver.hasEnded && !this.#stopped) await this.#drop(key, handOver);
    }
    this.#sweepLater();
  }
}

function keyOf(messageId: MessageId, attemptedAt: number): string {
  return `${PREFIX}${messageId}/${attemptedAt}`;
}

const KEY = new RegExp(`^${PREFIX}(msg_[0-9a-f-]{36})/(\\d{1,16})$`);

function entryText({ sid, knownSince, hasEnded }: HandOver): string {
  return JSON.stringify({ sid, knownSince, ...(hasEnded ? { hasEnded } : {}) });
}

/** What an entry says; null for one that cannot be read. */
function parseEntry(key: string, value: string): HandOver | null {
  const [, id, at] = KEY.exec(key) ?? [];
  if (id === undefined) return null;
  try {
    const { sid, knownSince, hasEnded = false } = JSON.parse(value) as Record<string, unknown>;
    if (typeof sid !== "string" || typeof knownSince !== "number") return null;
    return {
      messageId: id as MessageId,
      attemptedAt: Number(at),
      sid,
      knownSince,
      told: 0,
      hasEnded: hasEnded === true,
    };
  } catch {
    return null;
  }
}
