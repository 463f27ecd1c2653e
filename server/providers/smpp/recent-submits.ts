/**
 * Recent submits by user_message_reference, and message ids by message. Receipts are looked up here first. Neither a journal nor a note
 * of a send attempt: it is in memory only, since the outcome brings the reference by which the engine finds the message later.
 */

import { setBounded } from "../../core/bounded-map.ts";
import type { MessageId } from "../../core/id.ts";
import { canBeBetween, type EndDigits } from "./address.ts";

/** One submit_sm. */
export interface SubmitRecord {
  messageId: MessageId;
  /** The user_message_reference, unique among the records. */
  userReference: number;
  ends: EndDigits;
  /** The sequence number of the submit in this process. */
  order: number;
  /**
   * The reference of the message once its result is known. Null before, and if the message was not accepted or is
   * tracked by its parts.
   */
  reference: string | null;
}

/** A message id that the SMSC assigned. */
interface AssignedId {
  messageId: MessageId;
  reference: string;
  ends: EndDigits;
  isEnded: boolean;
}

const UNKNOWN_ENDS: EndDigits = { from: "", to: "" };
const USER_REFERENCES = 0xffff;
/** Closed records, and ids, that are remembered. */
const KEPT_MAX = 20_000;

export class RecentSubmits {
  /** Records whose result is not known yet, by user_message_reference, oldest first; and those whose result is known. */
  readonly #open = new Map<number, SubmitRecord>();
  readonly #closed = new Map<number, SubmitRecord>();
  readonly #ids = new Map<string, AssignedId>();
  /**
   * Ids that the SMSC gave to one message while another with the same id waited for its receipt: they identify nothing.
   */
  readonly #shared = new Map<string, true>();
  #order = 0;
  #last: number;

  /** `start` is the first number; every process begins at another one. */
  constructor(start: number) {
    this.#last = start % USER_REFERENCES;
  }

  /** Adds a submit. `isTaken` says whether a number is in use elsewhere. */
  open(
    messageId: MessageId,
    isTaken: (userReference: number) => boolean,
    ends: EndDigits = UNKNOWN_ENDS,
  ): SubmitRecord {
    do this.#last = (this.#last % USER_REFERENCES) + 1;
    while (this.#open.has(this.#last) || isTaken(this.#last));
    this.#order += 1;
    const submitted: SubmitRecord = { messageId, userReference: this.#last, ends, order: this.#order, reference: null };
    this.#closed.delete(this.#last);
    this.#open.set(this.#last, submitted);
    return submitted;
  }

  /** Closes a record once its result is known. Further calls change nothing. */
  close(submitted: SubmitRecord, reference: string | null): void {
    const { userReference } = submitted;
    if (this.#open.get(userReference) !== submitted) return;
    this.#open.delete(userReference);
    submitted.reference = reference;
    setBounded(this.#closed, userReference, submitted, KEPT_MAX);
  }

  /** The order of the newest submit. */
  get order(): number {
    return this.#order;
  }

  /** Whether a receipt that came in at `order` may be about a submit whose response is still on its way. */
  isEarly(order: number): boolean {
    const [oldest] = this.#open.values();
    return oldest !== undefined && oldest.order <= order;
  }

  /** Whether the response to a submit between two numbers is on its way; `numbers` are those of a receipt. */
  hasOpenBetween(numbers: readonly string[]): boolean {
    return [...this.#open.values()].some(({ ends }) => ends.to !== "" && canBeBetween(numbers, ends));
  }

  find(userReference: number): SubmitRecord | null {
    return this.#open.get(userReference) ?? this.#closed.get(userReference) ?? null;
  }

  /** Notes the id of a message. */
  assignId(id: string, messageId: MessageId, reference: string, ends: EndDigits = UNKNOWN_ENDS): void {
    const before = this.#ids.get(id);
    const isShared = before !== undefined && before.messageId !== messageId && !before.isEnded;
    if (isShared) setBounded(this.#shared, id, true, KEPT_MAX);
    setBounded(this.#ids, id, { messageId, reference, ends, isEnded: false }, KEPT_MAX);
  }

  /** Notes that the message with this id has ended, so that the id may be given to another message. */
  endId(id: string): void {
    const given = this.#ids.get(id);
    if (given !== undefined) given.isEnded = true;
  }

  /** Whether another message already has this id. */
  isIdOfAnother(id: string, messageId: MessageId): boolean {
    const given = this.#ids.get(id);
    return this.#shared.has(id) || (given !== undefined && given.messageId !== messageId);
  }

  /** The message with this id. Null if there is none, or more than one. */
  byId(id: string): Readonly<AssignedId> | null {
    return this.#shared.has(id) ? null : (this.#ids.get(id) ?? null);
  }

  /** Whether several messages have this id. */
  isShared(id: string): boolean {
    return this.#shared.has(id);
  }

  /** The number of ids that several messages have. */
  get sharedIds(): number {
    return this.#shared.size;
  }
}
