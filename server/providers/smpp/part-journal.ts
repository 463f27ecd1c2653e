/** Messages whose receipts the carrier's id alone does not name: kept on disk, part by part, until all have ended. */

import type { MessageId } from "../../core/id.ts";
import { SerialQueue } from "../../core/serial-queue.ts";
import type { Applied, Memory, ReceiptSignal } from "../provider.ts";
import type { EndDigits } from "./address.ts";
import type { SmppReceipt } from "./receipts.ts";

/** One submit_sm of a message. */
export interface JournalPart {
  /** The carrier's id; null where it gave none, or none that tells anything. */
  id: string | null;
  userReference: number;
  /** `open`: taken, or perhaps taken. `missing`: never taken. */
  state: "open" | "missing" | "delivered" | "failed";
}

/** A message that was handed over. */
export interface JournalEntry {
  messageId: MessageId;
  /** The provider's name of it. */
  reference: string;
  /** When it was handed over, by the service's clock. */
  at: number;
  parts: JournalPart[];
  ends?: EndDigits;
}

interface StoredEntry extends JournalEntry {
  key: string;
  isOver: boolean;
}

/** Where a receipt belongs. */
export interface JournalMatch {
  entry: StoredEntry;
  part: JournalPart;
}

/** Every key of an entry begins with it. */
const PREFIX = "sent/";
/** No carrier is heard to report later; what is older is forgotten. */
const KEPT_MS = 7 * 86_400_000;
/** Entries at once; beyond it the oldest is forgotten. */
const ENTRIES_MAX = 100_000;
/** Our numbers of parts that are known at once: half of what there is, so that there is always a free one for the next. */
const NUMBERS_MAX = 0x8000;
/** Ids of messages whose end is known, kept in mind so that a repeated receipt is nothing new. */
const ENDED_MAX = 10_000;

/** See the file's own sentence. */
export class PartJournal {
  readonly #memory: Memory;
  readonly #report: (signal: ReceiptSignal) => Promise<Applied>;
  readonly #serial = new SerialQueue();
  readonly #entries = new Map<string, StoredEntry>();
  readonly #byId = new Map<string, JournalMatch>();
  readonly #byUserReference = new Map<number, JournalMatch>();
  readonly #ended = new Set<string>();

  constructor(memory: Memory, tell: (signal: ReceiptSignal) => Promise<Applied>) {
    this.#memory = memory;
    this.#report = tell;
  }

  /** Takes up what the last process left. */
  async load(now: number): Promise<void> {
    for (const { key, value } of await this.#memory.list(PREFIX)) {
      const entry = parse(value);
      if (entry !== null && entry.at > now - KEPT_MS) this.#index({ ...entry, key, isOver: false });
      else await this.#memory.delete(key);
    }
  }

  /** Keeps an entry, and resolves when it is on disk. Receipts find it at once. */
  async record(entry: JournalEntry): Promise<void> {
    const key = `${PREFIX}${entry.messageId}/${entry.at}`;
    const kept = { ...entry, key, isOver: false };
    this.#index(kept);
    const [oldest] = this.#entries.values();
    if (this.#entries.size > ENTRIES_MAX && oldest !== undefined) await this.#forget(oldest);
    await this.#memory.put(key, textOf(kept));
  }

  /** Forgets what is too old. */
  async sweep(now: number): Promise<void> {
    for (const entry of [...this.#entries.values()]) if (entry.at <= now - KEPT_MS) await this.#forget(entry);
  }

  findById(id: string): JournalMatch | null {
    return this.#byId.get(id) ?? null;
  }

  findByUserReference(userReference: number): JournalMatch | null {
    return this.#byUserReference.get(userReference) ?? null;
  }

  /** Whether all was told that there is to tell of the message with this id. */
  hasEnded(id: string): boolean {
    return this.#ended.has(id) || this.#byId.get(id)?.entry.parts.every(isEnded) === true;
  }

  /** The SMSC gave an id: whatever had it before, it is another message's now. */
  reassignId(id: string): void {
    this.#ended.delete(id);
    this.#byId.delete(id);
  }

  /**
   * Takes in what a receipt says of a part, and tells what follows for the message: delivered with the last part, failed
   * with any; one that failed in part is kept, so that no word about another part says more. Resolves when it is on disk;
   * throws when it could not be told or kept, and is then to be called again.
   */
  applyReceipt({ entry, part }: JournalMatch, receipt: Pick<SmppReceipt, "state" | "word" | "code">): Promise<Applied> {
    return this.#serial.run(entry.key, () => this.#apply(entry, part, receipt));
  }

  async #apply(
    entry: StoredEntry,
    part: JournalPart,
    receipt: Pick<SmppReceipt, "state" | "word" | "code">,
  ): Promise<Applied> {
    if (entry.isOver) return "applied";
    if (receipt.state === "underway") {
      // Of one part among several it says nothing about the others.
      return entry.parts.length === 1 ? this.#report(signalOf(entry, "sent")) : "applied";
    }
    // That a part arrived is never taken back by a receipt that was overtaken.
    if (part.state !== "delivered") part.state = receipt.state;
    const isWhole = entry.parts.every(({ state }) => state === "delivered");
    const why = receipt.state === "failed" ? whyOf(receipt) : { reason: "The carrier could not deliver a part of it." };
    const signal = isWhole ? signalOf(entry, "delivered") : { ...signalOf(entry, "failed"), ...why };
    if (!isWhole && entry.parts.length > 1) {
      await this.#memory.put(entry.key, textOf(entry));
      return receipt.state === "failed" || entry.parts.every(isEnded) ? this.#report(signal) : "applied";
    }
    const applied = await this.#report({ ...signal, forget: entry.key });
    this.#drop(entry);
    return applied;
  }

  #index(entry: StoredEntry): void {
    this.#entries.set(entry.key, entry);
    for (const part of entry.parts) {
      if (part.id !== null) this.#byId.set(part.id, { entry, part });
      this.#byUserReference.delete(part.userReference);
      this.#byUserReference.set(part.userReference, { entry, part });
    }
    for (const number of this.#byUserReference.keys()) {
      if (this.#byUserReference.size <= NUMBERS_MAX) break;
      this.#byUserReference.delete(number);
    }
  }

  async #forget(entry: StoredEntry): Promise<void> {
    this.#drop(entry);
    await this.#memory.delete(entry.key);
  }

  #drop(entry: StoredEntry): void {
    entry.isOver = true;
    this.#entries.delete(entry.key);
    for (const { id, userReference } of entry.parts) {
      if (id !== null && this.#byId.get(id)?.entry === entry) this.#byId.delete(id);
      if (this.#byUserReference.get(userReference)?.entry === entry) this.#byUserReference.delete(userReference);
      if (id !== null) this.#ended.add(id);
    }
    for (const id of this.#ended) {
      if (this.#ended.size <= ENDED_MAX) break;
      this.#ended.delete(id);
    }
  }
}

function isEnded({ state }: JournalPart): boolean {
  return state === "delivered" || state === "failed";
}

function signalOf(entry: JournalEntry, receipt: ReceiptSignal["receipt"]): ReceiptSignal {
  return { kind: "receipt", reference: entry.reference, messageId: entry.messageId, channel: "sms", receipt };
}

/** What a failed receipt says in codes and in words. */
export function whyOf({ word, code }: Pick<SmppReceipt, "word" | "code">): { code: string; reason: string } {
  const words = code === null ? word : `${word}, error ${code}`;
  return { code: code ?? word, reason: `The carrier took it and could not deliver it (${words}).` };
}

function textOf({ messageId, reference, at, parts, ends }: JournalEntry): string {
  return JSON.stringify({ messageId, reference, at, parts, ends });
}

const STATES: readonly unknown[] = ["open", "missing", "delivered", "failed"] satisfies JournalPart["state"][];

function parse(text: string): JournalEntry | null {
  try {
    const value = JSON.parse(text) as Partial<JournalEntry> | null;
    const { messageId, reference, at, parts, ends } = value ?? {};
    if (typeof messageId !== "string" || typeof reference !== "string" || typeof at !== "number") return null;
    if (!Array.isArray(parts) || !parts.every(isPart)) return null;
    const { from, to } = ends ?? {};
    const areKnown = typeof from === "string" && typeof to === "string";
    return { messageId, reference, at, parts, ...(areKnown ? { ends: { from, to } } : {}) };
  } catch {
    return null;
  }
}

function isPart(value: unknown): value is JournalPart {
  const { id, userReference, state } = (value ?? {}) as Partial<JournalPart>;
  return (id === null || typeof id === "string") && typeof userReference === "number" && STATES.includes(state);
}
