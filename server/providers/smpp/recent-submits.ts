/** Hand-overs by the numbers that go out with them, and the ids that came back. In memory: receipts are looked up here first. */

import type { MessageId } from "../../core/id.ts";
import type { EndDigits } from "./address.ts";

/** One submit_sm of ours. */
export interface SubmitRecord {
  messageId: MessageId;
  /** user_message_reference: unlike that of every other flight here. */
  userReference: number;
  ends: EndDigits;
  /** Place among all that were begun. */
  order: number;
  /** The message's, once its fate is known; null before, and where it was not taken or is kept in the book. */
  reference: string | null;
}

/** An id that the SMSC gave. */
interface AssignedId {
  messageId: MessageId;
  reference: string;
  isEnded: boolean;
}

const UNKNOWN_ENDS: EndDigits = { from: "", to: "" };
const USER_REFERENCES = 0xffff;
/** Flights that are not open, and ids, that are kept in mind. */
const KEPT_MAX = 20_000;

export class RecentSubmits {
  readonly #byReference = new Map<number, SubmitRecord>();
  readonly #ids = new Map<string, AssignedId>();
  /** Ids that were given to a message while another one with it waited for its receipt: they tell nothing. */
  readonly #shared = new Set<string>();
  /** Those whose fate is not known, oldest first. */
  readonly #open = new Set<SubmitRecord>();
  #order = 0;
  #last: number;

  /** `start` is where the numbers begin: another place in each process. */
  constructor(start: number) {
    this.#last = start % USER_REFERENCES;
  }

  /** Begins one; `isBusy` says of a number that it is in use elsewhere. */
  open(
    messageId: MessageId,
    isTaken: (userReference: number) => boolean,
    ends: EndDigits = UNKNOWN_ENDS,
  ): SubmitRecord {
    do this.#last = (this.#last % USER_REFERENCES) + 1;
    while (this.#isOpen(this.#byReference.get(this.#last)) || isTaken(this.#last));
    this.#order += 1;
    const submitted: SubmitRecord = { messageId, userReference: this.#last, ends, order: this.#order, reference: null };
    this.#byReference.delete(this.#last);
    this.#byReference.set(this.#last, submitted);
    this.#open.add(submitted);
    dropFirst(this.#byReference, (oldest) => !this.#isOpen(oldest));
    return submitted;
  }

  /** Its fate is known: said again it changes nothing. */
  close(submitted: SubmitRecord, reference: string | null): void {
    if (this.#open.delete(submitted)) submitted.reference = reference;
  }

  /** The newest order that was given. */
  get order(): number {
    return this.#order;
  }

  /** Whether something that came in at `order` may be about a flight whose answer is still on its way. */
  isEarly(order: number): boolean {
    const [oldest] = this.#open;
    return oldest !== undefined && oldest.order <= order;
  }

  find(userReference: number): SubmitRecord | null {
    return this.#byReference.get(userReference) ?? null;
  }

  /** Notes an id that a message was given. */
  assignId(id: string, messageId: MessageId, reference: string): void {
    const before = this.#ids.get(id);
    if (before !== undefined && before.messageId !== messageId && !before.isEnded) this.#share(id);
    this.#ids.delete(id);
    this.#ids.set(id, { messageId, reference, isEnded: false });
    dropFirst(this.#ids, () => true);
  }

  /** The message with this id has ended: given again, the id is the next one's alone. */
  endId(id: string): void {
    const given = this.#ids.get(id);
    if (given !== undefined) given.isEnded = true;
  }

  /** Whether an id was given already, to another message than this one. */
  isIdOfAnother(id: string, messageId: MessageId): boolean {
    const given = this.#ids.get(id);
    return this.#shared.has(id) || (given !== undefined && given.messageId !== messageId);
  }

  /** The message with this id; null where there is none here, or several. */
  byId(id: string): Readonly<AssignedId> | null {
    return this.#shared.has(id) ? null : (this.#ids.get(id) ?? null);
  }

  /** Whether an id was given to several messages at once. */
  isShared(id: string): boolean {
    return this.#shared.has(id);
  }

  /** Ids that were given to several messages at once. */
  get sharedIds(): number {
    return this.#shared.size;
  }

  #isOpen(submitted: SubmitRecord | undefined): boolean {
    return submitted !== undefined && this.#open.has(submitted);
  }

  #share(id: string): void {
    this.#shared.add(id);
    dropFirst(this.#shared, () => true);
  }
}

/** Drops the oldest entry of what has grown too long, where it may go. */
function dropFirst<Value>(kept: Map<unknown, Value> | Set<Value>, mayGo: (value: Value) => boolean): void {
  if (kept.size <= KEPT_MAX) return;
  const [oldest] = kept.entries();
  if (oldest !== undefined && mayGo(oldest[1])) kept.delete(oldest[0] as never);
}
