/**
 * Journal of sent messages that the carrier's id alone does not identify: stored part by part until all parts have
 * ended.
 */

import { setBounded } from "../../core/bounded-map.ts";
import type { MessageId } from "../../core/id.ts";
import { jsonOf, recordOf } from "../../core/loose-json.ts";
import { SerialQueue } from "../../core/serial-queue.ts";
import { Journal } from "../kit/journal.ts";
import type { Applied, Memory, ReceiptSignal } from "../provider.ts";
import type { EndDigits } from "./address.ts";
import type { SmppReceipt } from "./receipts.ts";

/** One submit_sm of a message. */
export interface JournalPart {
  /** The carrier's id. Null if the carrier gave none, or one that identifies nothing. */
  id: string | null;
  userReference: number;
  /** `open`: accepted, or possibly accepted. `missing`: provably not accepted. */
  state: "open" | "missing" | "delivered" | "failed";
}

/** A sent message. */
export interface JournalEntry {
  messageId: MessageId;
  /** The reference that the engine knows. */
  reference: string;
  /** When the message was sent, by the service's clock. */
  at: number;
  parts: JournalPart[];
  ends?: EndDigits;
}

interface StoredJournalEntry extends JournalEntry {
  name: string;
}

/** The part that a receipt is about. */
export interface JournalMatch {
  entry: StoredJournalEntry;
  part: JournalPart;
}

/** Prefix of the keys of the entries. */
const PREFIX = "sent/";
/** Entries older than this are deleted: no carrier is known to send receipts later. */
const KEPT_MS = 7 * 86_400_000;
/** Entries at once. Beyond this number the oldest is deleted. */
const ENTRIES_MAX = 100_000;
/** User references remembered at once: half of the 16-bit range, so that the next submit always finds a free one. */
const NUMBERS_MAX = 0x8000;
/** Ids of ended messages to remember, so that a repeated receipt is recognised as a duplicate. */
const ENDED_MAX = 10_000;

export class PartJournal {
  readonly #report: (signal: ReceiptSignal) => Promise<Applied>;
  readonly #serial = new SerialQueue();
  readonly #entries: Journal<StoredJournalEntry>;
  readonly #byId = new Map<string, JournalMatch>();
  readonly #byUserReference = new Map<number, JournalMatch>();
  readonly #ended = new Map<string, true>();

  constructor(memory: Memory, report: (signal: ReceiptSignal) => Promise<Applied>) {
    this.#report = report;
    this.#entries = new Journal({
      memory,
      prefix: PREFIX,
      format: formatEntry,
      parse: parseEntry,
      max: ENTRIES_MAX,
      added: (entry) => this.#index(entry),
      removed: (entry) => this.#unindex(entry),
    });
  }

  /** Loads the entries of the previous process. */
  async load(now: number): Promise<void> {
    await this.#entries.load();
    await this.sweep(now);
  }

  /** Adds an entry, and resolves when it is on disk. Receipts find it at once. */
  async record(entry: JournalEntry): Promise<void> {
    const name = `${entry.messageId}/${entry.at}`;
    this.#entries.set(name, { ...entry, name });
    await this.#entries.save(name);
  }

  /** Deletes entries that are too old. */
  sweep(now: number): Promise<void> {
    return this.#entries.sweep(({ at }) => at <= now - KEPT_MS);
  }

  findById(id: string): JournalMatch | null {
    return this.#byId.get(id) ?? null;
  }

  findByUserReference(userReference: number): JournalMatch | null {
    return this.#byUserReference.get(userReference) ?? null;
  }

  /** Whether the final receipt of the message with this id has been reported. */
  hasEnded(id: string): boolean {
    return this.#ended.has(id) || this.#byId.get(id)?.entry.parts.every(isEnded) === true;
  }

  /** Drops the id from its former message, because the SMSC gave it to another one. */
  reassignId(id: string): void {
    this.#ended.delete(id);
    this.#byId.delete(id);
  }

  /**
   * Applies a receipt to a part and reports the result for the message: delivered with the last part, failed with any
   * part. An entry that failed in part stays, so that receipts of other parts change nothing. Resolves when the change
   * is on disk. If it throws, the caller has to call it again.
   */
  applyReceipt({ entry, part }: JournalMatch, receipt: Pick<SmppReceipt, "state" | "word" | "code">): Promise<Applied> {
    return this.#serial.run(entry.name, () => this.#apply(entry, part, receipt));
  }

  async #apply(
    entry: StoredJournalEntry,
    part: JournalPart,
    receipt: Pick<SmppReceipt, "state" | "word" | "code">,
  ): Promise<Applied> {
    if (this.#entries.get(entry.name) !== entry) return "applied";
    if (receipt.state === "underway") {
      // An intermediate state of one part among several says nothing about the others.
      return entry.parts.length === 1 ? this.#report(signalOf(entry, "sent")) : "applied";
    }
    // A delivered part stays delivered if an older receipt arrives late.
    if (part.state !== "delivered") part.state = receipt.state;
    const isWhole = entry.parts.every(({ state }) => state === "delivered");
    const why = receipt.state === "failed" ? whyOf(receipt) : { reason: "The carrier could not deliver a part of it." };
    const signal = isWhole ? signalOf(entry, "delivered") : { ...signalOf(entry, "failed"), ...why };
    if (!isWhole && entry.parts.length > 1) {
      await this.#entries.save(entry.name);
      return receipt.state === "failed" || entry.parts.every(isEnded) ? this.#report(signal) : "applied";
    }
    const applied = await this.#report({ ...signal, forget: this.#entries.keyOf(entry.name) });
    this.#entries.drop(entry.name);
    return applied;
  }

  #index(entry: StoredJournalEntry): void {
    for (const part of entry.parts) {
      if (part.id !== null) this.#byId.set(part.id, { entry, part });
      setBounded(this.#byUserReference, part.userReference, { entry, part }, NUMBERS_MAX);
    }
  }

  #unindex(entry: StoredJournalEntry): void {
    for (const { id, userReference } of entry.parts) {
      if (this.#byUserReference.get(userReference)?.entry === entry) this.#byUserReference.delete(userReference);
      if (id === null) continue;
      if (this.#byId.get(id)?.entry === entry) this.#byId.delete(id);
      setBounded(this.#ended, id, true, ENDED_MAX);
    }
  }
}

function isEnded({ state }: JournalPart): boolean {
  return state === "delivered" || state === "failed";
}

function signalOf(entry: JournalEntry, receipt: ReceiptSignal["receipt"]): ReceiptSignal {
  return { kind: "receipt", reference: entry.reference, messageId: entry.messageId, channel: "sms", receipt };
}

/** The error code and the sentence of a failed receipt. */
export function whyOf({ word, code }: Pick<SmppReceipt, "word" | "code">): { code: string; reason: string } {
  const words = code === null ? word : `${word}, error ${code}`;
  return { code: code ?? word, reason: `The carrier accepted the message and could not deliver it (${words}).` };
}

function formatEntry({ messageId, reference, at, parts, ends }: JournalEntry): string {
  return JSON.stringify({ messageId, reference, at, parts, ends });
}

const STATES: readonly unknown[] = ["open", "missing", "delivered", "failed"] satisfies JournalPart["state"][];

function parseEntry(text: string, name: string): StoredJournalEntry | null {
  const { messageId, reference, at, parts, ends } = (recordOf(jsonOf(text)) ?? {}) as Partial<JournalEntry>;
  if (typeof messageId !== "string" || typeof reference !== "string" || typeof at !== "number") return null;
  if (!Array.isArray(parts) || !parts.every(isPart)) return null;
  const { from, to } = ends ?? {};
  const areKnown = typeof from === "string" && typeof to === "string";
  return { name, messageId, reference, at, parts, ...(areKnown ? { ends: { from, to } } : {}) };
}

function isPart(value: unknown): value is JournalPart {
  const { id, userReference, state } = (value ?? {}) as Partial<JournalPart>;
  return (id === null || typeof id === "string") && typeof userReference === "number" && STATES.includes(state);
}
