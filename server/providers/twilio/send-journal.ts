/** Journal of send attempts that Twilio accepted: the sid of each, in the instance's memory, bounded. */

import type { Clock } from "../../clock.ts";
import type { MessageId } from "../../core/id.ts";
import type { Memory } from "../provider.ts";

/** A send attempt that Twilio accepted. */
export interface SendRecord {
  readonly messageId: MessageId;
  /** `Outbound.attemptedAt`: distinguishes the attempts of one message. */
  readonly attemptedAt: number;
  readonly sid: string;
  /** Real epoch milliseconds. */
  readonly knownSince: number;
  /** Rank of the highest receipt that was reported; 0 before the first, and again after a restart. */
  reportedRank: number;
  /** No further status is expected. */
  hasEnded: boolean;
}

const PREFIX = "sent/";
/** Records kept. Beyond this number the oldest is deleted, and no longer polled. */
const KEPT_MAX = 100_000;
/**
 * How long an ended record is kept (real time), so that `reconcile` does not take it for another message with the same
 * text.
 */
const KEPT_MS = 900_000;
const SWEEP_MS = 60_000;

/** Callbacks that tell the poller which records exist. */
export interface SendJournalEvents {
  /** A record that has not ended was added; `isOld`: by a previous process. */
  added(record: SendRecord, isOld: boolean): void;
  removed(record: SendRecord): void;
}

/** `stop` ends the sweeps. */
export class SendJournal {
  readonly #memory: Memory;
  readonly #clock: Clock;
  readonly #events: SendJournalEvents;
  readonly #keptMax: number;
  /** Oldest first. */
  readonly #byKey = new Map<string, SendRecord>();
  readonly #bySid = new Map<string, SendRecord>();
  #stopSweep = () => {};
  #stopped = false;

  constructor(given: { memory: Memory; clock: Clock; events: SendJournalEvents; keptMax?: number }) {
    this.#memory = given.memory;
    this.#clock = given.clock;
    this.#events = given.events;
    this.#keptMax = given.keptMax ?? KEPT_MAX;
  }

  /** Loads the records of previous processes. */
  async load(): Promise<void> {
    const entries = await this.#memory.list(PREFIX);
    const read = entries.map(({ key, value }) => ({ key, record: parseEntry(key, value) }));
    read.sort((a, b) => (a.record?.knownSince ?? 0) - (b.record?.knownSince ?? 0));
    for (const { key, record } of read) {
      if (record === null) void this.#forget(key);
      else if (!this.#byKey.has(key)) this.#add(key, record, true);
    }
    this.#sweepLater();
  }

  find(messageId: MessageId, attemptedAt: number): SendRecord | null {
    return this.#byKey.get(keyOf(messageId, attemptedAt)) ?? null;
  }

  findBySid(sid: string): SendRecord | null {
    return this.#bySid.get(sid) ?? null;
  }

  /** Records the sid of an attempt, and resolves once it is on disk. A known sid is not written again. */
  async record(messageId: MessageId, attemptedAt: number, sid: string): Promise<SendRecord> {
    const key = keyOf(messageId, attemptedAt);
    const known = this.#byKey.get(key);
    if (known?.sid === sid) return known;
    const knownSince = this.#clock.real();
    const record: SendRecord = { messageId, attemptedAt, sid, knownSince, reportedRank: 0, hasEnded: false };
    await this.#memory.put(key, entryText(record));
    const meanwhile = this.#byKey.get(key);
    if (meanwhile?.sid === sid) return meanwhile;
    if (meanwhile !== undefined) this.#remove(key, meanwhile);
    if (!this.#stopped) this.#add(key, record, false);
    return record;
  }

  /** Marks a record as ended. If that cannot be written, the next process polls the record once more. */
  async end(record: SendRecord): Promise<void> {
    if (record.hasEnded) return;
    record.hasEnded = true;
    this.#events.removed(record);
    const key = keyOf(record.messageId, record.attemptedAt);
    if (this.#byKey.get(key) !== record) return;
    if (this.#isOver(record)) await this.#drop(key, record);
    else await this.#memory.put(key, entryText(record)).catch(() => {});
  }

  stop(): void {
    this.#stopped = true;
    this.#stopSweep();
  }

  #add(key: string, record: SendRecord, isOld: boolean): void {
    this.#byKey.set(key, record);
    this.#bySid.set(record.sid, record);
    if (!record.hasEnded) this.#events.added(record, isOld);
    for (const [oldest, one] of this.#byKey) {
      if (this.#byKey.size <= this.#keptMax) break;
      void this.#drop(oldest, one);
    }
  }

  #remove(key: string, record: SendRecord): void {
    this.#byKey.delete(key);
    if (this.#bySid.get(record.sid) === record) this.#bySid.delete(record.sid);
    if (!record.hasEnded) this.#events.removed(record);
  }

  #drop(key: string, record: SendRecord): Promise<void> {
    this.#remove(key, record);
    return this.#forget(key);
  }

  /** If this fails, the next process deletes the record. */
  #forget(key: string): Promise<void> {
    return this.#memory.delete(key).catch(() => {});
  }

  #isOver({ hasEnded, knownSince }: SendRecord): boolean {
    return hasEnded && this.#clock.real() - knownSince >= KEPT_MS;
  }

  #sweepLater(): void {
    if (this.#stopped) return;
    this.#stopSweep = this.#clock.after(SWEEP_MS, () => void this.#sweep());
  }

  async #sweep(): Promise<void> {
    for (const [key, record] of [...this.#byKey]) {
      if (this.#clock.real() - record.knownSince < KEPT_MS) break;
      if (record.hasEnded && !this.#stopped) await this.#drop(key, record);
    }
    this.#sweepLater();
  }
}

function keyOf(messageId: MessageId, attemptedAt: number): string {
  return `${PREFIX}${messageId}/${attemptedAt}`;
}

const KEY = new RegExp(`^${PREFIX}(msg_[0-9a-f-]{36})/(\\d{1,16})$`);

function entryText({ sid, knownSince, hasEnded }: SendRecord): string {
  return JSON.stringify({ sid, knownSince, ...(hasEnded ? { hasEnded } : {}) });
}

/** Reads a record; null if it cannot be read. */
function parseEntry(key: string, value: string): SendRecord | null {
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
      reportedRank: 0,
      hasEnded: hasEnded === true,
    };
  } catch {
    return null;
  }
}
