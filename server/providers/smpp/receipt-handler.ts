/**
 * Handles receipts: finds the message of each one, reports it to the engine, and holds a receipt whose message is not
 * known yet.
 */

import type { Clock } from "../../clock.ts";
import { SerialQueue } from "../../core/serial-queue.ts";
import { RecentCount } from "../kit/recent-count.ts";
import { retryDelayMs, type SignalOutbox } from "../kit/signal-outbox.ts";
import type { Applied, Memory, ProviderContext, ReceiptSignal } from "../provider.ts";
import type { AccountMember } from "./accounts.ts";
import { canBeBetween, type EndDigits, lastDigits } from "./address.ts";
import { type PartTracker, whyOf } from "./part-tracker.ts";
import { isFinal, type SmppReceipt } from "./receipts.ts";
import type { RecentSubmits } from "./recent-submits.ts";
import { ESME_ROK, ESME_RX_T_APPN } from "./status.ts";

/**
 * How long to look for the message of a receipt. The search goes on while a response is on its way that may bring the
 * id.
 */
const HELD_MS_MAX = 60_000;
/**
 * After this time the receipt is stored and answered, since an SMSC may wait for the answer before it sends its own
 * responses.
 */
const UNANSWERED_MS_MAX = 500;
/** Receipts held at once. Beyond this number the SMSC is asked to send them later. */
const HELD_MAX = 10_000;
/** Prefix of the keys of stored receipts. */
const PREFIX = "held/";

const STATES: readonly SmppReceipt["state"][] = ["delivered", "failed", "underway", "unclear"];

/** A receipt that is being handled. */
interface HeldReceipt {
  receipt: SmppReceipt;
  /** The newest submit when the receipt arrived. */
  order: number;
  /** Give up at this instant, by the real clock. */
  until: number;
  /** Its key in the instance's memory; null while it is not stored. */
  key: string | null;
  isDone: boolean;
}

interface ReceiptHandlerParts {
  memory: Memory;
  clock: Clock;
  outbox: SignalOutbox;
  recentSubmits: RecentSubmits;
  tracker: PartTracker;
  /** The other instances on the same account. */
  others: () => readonly AccountMember[];
  findSent: ProviderContext["findSent"];
}

export class ReceiptHandler {
  readonly #parts: ReceiptHandlerParts;
  /** Receipts of one message, one after the other. */
  readonly #serial = new SerialQueue();
  #count = 0;
  #kept = 0;
  readonly #unmatched: RecentCount;

  constructor(parts: ReceiptHandlerParts) {
    this.#parts = parts;
    this.#unmatched = new RecentCount(parts.clock);
  }

  /** Receipts whose message was never found; 0 after an hour without another. */
  get unmatched(): number {
    return this.#unmatched.value;
  }

  /** Loads the receipts that the previous process had answered but not reported. */
  async load(): Promise<void> {
    const { memory } = this.#parts;
    for (const { key, value } of await memory.list(PREFIX)) {
      const receipt = parse(value);
      if (receipt === null) await memory.delete(key);
      else void this.#inTurn(this.#held(receipt, key));
    }
  }

  /**
   * Resolves with the command_status for the response: ESME_ROK only once the receipt is applied or stored, or belongs
   * to nobody. Null: no response, since the store accepts nothing; the SMSC repeats the receipt on its next session.
   */
  async handle(receipt: SmppReceipt): Promise<number | null> {
    if (this.#count >= HELD_MAX) return ESME_RX_T_APPN;
    const held = this.#held(receipt, null);
    const done = this.#inTurn(held);
    const { clock } = this.#parts;
    return await new Promise<number | null>((resolve) => {
      const keep = async () => {
        if (await this.#keep(held)) resolve(ESME_ROK);
      };
      const stopTimer = clock.after(UNANSWERED_MS_MAX, () => void keep());
      void done.then((isReported) => {
        stopTimer();
        resolve(isReported ? ESME_ROK : null);
      });
    });
  }

  /**
   * Whether a receipt is about a message of this instance: one between its two numbers with its id, or one whose
   * response is on its way. Throws if the store cannot be read.
   */
  async owns(receipt: SmppReceipt): Promise<boolean> {
    const { tracker, recentSubmits, findSent } = this.#parts;
    if (recentSubmits.hasOpenBetween(receipt.ends)) return true;
    for (const id of receipt.ids) {
      const ends = tracker.findById(id)?.message.ends ?? recentSubmits.byId(id)?.ends;
      if (ends !== undefined && canBeBetween(receipt.ends, ends)) return true;
      const sent = await findSent(id);
      if (sent !== null && canBeBetween(receipt.ends, { from: lastDigits(sent.from), to: lastDigits(sent.to) }))
        return true;
    }
    return false;
  }

  #held(receipt: SmppReceipt, key: string | null): HeldReceipt {
    const { clock, recentSubmits } = this.#parts;
    this.#count += 1;
    return { receipt, order: recentSubmits.order, until: clock.real() + HELD_MS_MAX, key, isDone: false };
  }

  /** Returns whether the receipt was applied or belongs to nobody. False: the SMSC should repeat it. */
  async #inTurn(held: HeldReceipt): Promise<boolean> {
    const { ids, userReference } = held.receipt;
    const isReported = await this.#serial.run(ids[0] ?? `user reference ${userReference}`, () =>
      this.#reportWithRetries(held),
    );
    held.isDone = true;
    this.#count -= 1;
    if (isReported && held.key !== null) await this.#parts.memory.delete(held.key).catch(() => {});
    return isReported;
  }

  async #reportWithRetries(held: HeldReceipt): Promise<boolean> {
    const { clock, outbox, recentSubmits } = this.#parts;
    for (let tries = 0; !outbox.isEnding; tries += 1) {
      const isLate = clock.real() >= held.until && !recentSubmits.isEarly(held.order);
      // A receipt that was answered is retried until the store accepts it. One that was not answered is left to the
      // SMSC.
      const applied = await this.#report(held).catch(() => null);
      if (applied === "applied") return true;
      if (isLate && applied === "unknown") this.#unmatched.note();
      if (isLate && (applied === "unknown" || held.key === null)) return applied === "unknown";
      await outbox.pause(retryDelayMs(tries));
    }
    return false;
  }

  /** Tries once to find the message and apply the receipt. */
  async #report(held: HeldReceipt): Promise<Applied> {
    const { recentSubmits, others } = this.#parts;
    const { receipt, order } = held;
    if ((await this.reportById(receipt)) === "applied") return "applied";
    // While a response is on its way, the id may belong to that message.
    if (isFinal(receipt) && !recentSubmits.isEarly(order)) {
      for (const other of others()) if ((await other.applyReceipt(receipt)) === "applied") return "applied";
    }
    return await this.#reportByUserReference(held);
  }

  /**
   * Matches by id alone. Ids are the same on all sessions of the account, so this also serves a receipt from another
   * instance.
   */
  async reportById(receipt: SmppReceipt): Promise<Applied> {
    const { tracker, recentSubmits, outbox } = this.#parts;
    const ids = receipt.ids.filter((id) => !recentSubmits.isShared(id));
    for (const id of ids) {
      const found = tracker.findById(id);
      if (found !== null) return await tracker.applyReceipt(found, receipt);
      if (tracker.hasEnded(id)) return "applied";
      const given = recentSubmits.byId(id);
      if (given === null) continue;
      const applied = await this.#reportFor(receipt, { reference: given.reference, messageId: given.messageId });
      if (isFinal(receipt)) recentSubmits.endId(id);
      return applied;
    }
    // An intermediate state is not worth a look in the database.
    for (const reference of isFinal(receipt) ? ids : []) {
      if ((await outbox.report(signalOf(receipt, { reference }))) === "applied") return "applied";
    }
    return "unknown";
  }

  /** Matches by the user_message_reference that the SMSC returned, if the id identifies nothing. */
  async #reportByUserReference({ receipt, order }: HeldReceipt): Promise<Applied> {
    const { tracker, recentSubmits } = this.#parts;
    const { userReference } = receipt;
    const nothing = isFinal(receipt) ? "unknown" : "applied";
    if (userReference === null) return nothing;
    const kept = tracker.findByUserReference(userReference);
    const found = kept !== null && isBetween(receipt, kept.message.ends) ? kept : null;
    const hasNoId = found !== null && (found.part.id === null || recentSubmits.isShared(found.part.id));
    if (!hasNoId && recentSubmits.isEarly(order)) return nothing;
    if (found !== null) return await tracker.applyReceipt(found, receipt);
    const submitted = recentSubmits.find(userReference);
    if (submitted?.reference == null || !isBetween(receipt, submitted.ends)) return nothing;
    return await this.#reportFor(receipt, { reference: submitted.reference, messageId: submitted.messageId });
  }

  async #reportFor(receipt: SmppReceipt, message: Pick<ReceiptSignal, "reference" | "messageId">): Promise<Applied> {
    return isFinal(receipt) ? await this.#parts.outbox.report(signalOf(receipt, message)) : "applied";
  }

  /** Stores the receipt, so that it can be answered. */
  async #keep(held: HeldReceipt): Promise<boolean> {
    const { clock, memory } = this.#parts;
    if (held.isDone) return false;
    this.#kept += 1;
    const key = `${PREFIX}${clock.real()}/${this.#kept}`;
    try {
      await memory.put(key, JSON.stringify(held.receipt));
    } catch {
      return false;
    }
    held.key = key;
    if (held.isDone) await memory.delete(key).catch(() => {});
    return true;
  }
}

function signalOf(
  receipt: SmppReceipt,
  { reference, messageId }: Pick<ReceiptSignal, "reference" | "messageId">,
): ReceiptSignal {
  return {
    kind: "receipt",
    reference,
    ...(messageId === undefined ? {} : { messageId }),
    channel: "sms",
    ...(receipt.state === "failed" ? { receipt: "failed", ...whyOf(receipt) } : { receipt: "delivered" }),
  };
}

/**
 * The user_message_reference may belong to another message: one from before a restart, or from another system on the
 * account.
 */
function isBetween(receipt: SmppReceipt, ends: EndDigits | undefined): boolean {
  return ends === undefined || canBeBetween(receipt.ends, ends);
}

function parse(text: string): SmppReceipt | null {
  try {
    const value = JSON.parse(text) as Partial<SmppReceipt> | null;
    const { ids, userReference = null, state, word, code = null, ends = [] } = value ?? {};
    if (!Array.isArray(ids) || !ids.every((id) => typeof id === "string") || typeof word !== "string") return null;
    if (state === undefined || !STATES.includes(state)) return null;
    if (userReference !== null && typeof userReference !== "number") return null;
    if (!Array.isArray(ends) || !ends.every((end) => typeof end === "string")) return null;
    return { ids, userReference, state, word, code: code === null ? null : String(code), ends };
  } catch {
    return null;
  }
}
