/** Journal of send attempts that Twilio accepted: the sid of each, in the instance's memory, bounded. */

import type { Clock } from "../../clock.ts";
import type { MessageId } from "../../core/id.ts";
import { jsonOf, numberOf, recordOf, textOf } from "../../core/loose-json.ts";
import { SerialQueue } from "../../core/serial-queue.ts";
import { Journal } from "../kit/journal.ts";
import { RepeatingTask } from "../kit/repeating-task.ts";
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
  readonly #clock: Clock;
  readonly #events: SendJournalEvents;
  readonly #records: Journal<SendRecord>;
  readonly #bySid = new Map<string, SendRecord>();
  readonly #serial = new SerialQueue();
  readonly #sweeps: RepeatingTask;
  #isLoaded = false;

  constructor(given: { memory: Memory; clock: Clock; events: SendJournalEvents; keptMax?: number }) {
    const { memory, clock, events, keptMax: max = KEPT_MAX } = given;
    this.#clock = clock;
    this.#events = events;
    this.#records = new Journal({
      memory,
      prefix: PREFIX,
      format: formatRecord,
      parse: parseRecord,
      ageOf: ({ knownSince }) => knownSince,
      max,
      added: (record) => this.#added(record),
      removed: (record) => this.#removed(record),
    });
    // A record that cannot be deleted is deleted by the next process.
    this.#sweeps = new RepeatingTask({ clock, run: () => this.#sweep(), fault: () => {}, retryMs: SWEEP_MS });
  }

  /** Loads the records of previous processes. */
  async load(): Promise<void> {
    await this.#records.load();
    this.#isLoaded = true;
    this.#sweeps.schedule(SWEEP_MS);
  }

  find(messageId: MessageId, attemptedAt: number): SendRecord | null {
    return this.#records.get(nameOf({ messageId, attemptedAt }));
  }

  findBySid(sid: string): SendRecord | null {
    return this.#bySid.get(sid) ?? null;
  }

  /** Records the sid of an attempt, and resolves once it is on disk. A known sid is not written again. */
  record(messageId: MessageId, attemptedAt: number, sid: string): Promise<SendRecord> {
    const name = nameOf({ messageId, attemptedAt });
    return this.#serial.run(name, async () => {
      const known = this.#records.get(name);
      if (known?.sid === sid) return known;
      const knownSince = this.#clock.real();
      const record: SendRecord = { messageId, attemptedAt, sid, knownSince, reportedRank: 0, hasEnded: false };
      await this.#records.put(name, record);
      return record;
    });
  }

  /** Marks a record as ended. If that cannot be written, the next process polls the record once more. */
  async end(record: SendRecord): Promise<void> {
    if (record.hasEnded) return;
    record.hasEnded = true;
    this.#events.removed(record);
    const name = nameOf(record);
    if (this.#records.get(name) !== record) return;
    await (this.#isOver(record) ? this.#records.delete(name) : this.#records.save(name)).catch(() => {});
  }

  stop(): Promise<void> {
    return this.#sweeps.stop();
  }

  #added(record: SendRecord): void {
    this.#bySid.set(record.sid, record);
    if (!record.hasEnded) this.#events.added(record, !this.#isLoaded);
  }

  #removed(record: SendRecord): void {
    if (this.#bySid.get(record.sid) === record) this.#bySid.delete(record.sid);
    if (!record.hasEnded) this.#events.removed(record);
  }

  #isOver({ hasEnded, knownSince }: SendRecord): boolean {
    return hasEnded && this.#clock.real() - knownSince >= KEPT_MS;
  }

  async #sweep(): Promise<number> {
    await this.#records.sweep((record) => this.#isOver(record));
    return SWEEP_MS;
  }
}

/** The name of a record in the journal. */
function nameOf({ messageId, attemptedAt }: Pick<SendRecord, "messageId" | "attemptedAt">): string {
  return `${messageId}/${attemptedAt}`;
}

const NAME = /^(msg_[0-9a-f-]{36})\/(\d{1,16})$/;

function formatRecord({ sid, knownSince, hasEnded }: SendRecord): string {
  return JSON.stringify({ sid, knownSince, ...(hasEnded ? { hasEnded } : {}) });
}

/** Reads a record; null if it cannot be read. */
function parseRecord(text: string, name: string): SendRecord | null {
  const [, id, at] = NAME.exec(name) ?? [];
  const fields = recordOf(jsonOf(text));
  const [sid, knownSince] = [textOf(fields?.sid), numberOf(fields?.knownSince)];
  if (id === undefined || sid === null || knownSince === null) return null;
  const hasEnded = fields?.hasEnded === true;
  return { messageId: id as MessageId, attemptedAt: Number(at), sid, knownSince, reportedRank: 0, hasEnded };
}
