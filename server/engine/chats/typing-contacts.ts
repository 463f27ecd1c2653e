/** Knows which contacts are typing, and emits the event when one stops or sends nothing for a minute. */

import type { Channel, TypingEventData } from "../../../sdk/wire.ts";
import { makeEvent } from "../../core/event.ts";
import { type ChatId, type CustomerId, newCorrelationId } from "../../core/id.ts";
import type { Operation } from "../../store/store.ts";
import { acknowledgeOnly } from "../acknowledge.ts";
import { decide } from "../commit.ts";
import type { Deps } from "../deps.ts";

/** Time without a signal after which a contact counts as having stopped, in real milliseconds as phones count it. */
export const TYPING_MS_MAX = 60_000;
/** Most contacts typing at once; beyond this the first contact to begin counts as having stopped. */
const TYPISTS_MAX = 10_000;

/** A contact who is typing, and where. */
interface TypingContact {
  chatId: ChatId;
  customerId: CustomerId;
  from: string;
  to: string;
  channel: Channel;
}

/** Who is typing to whom. In memory only: a process that dies forgets it. */
export class TypingContacts {
  readonly #typing = new Map<string, { typist: TypingContact; stopTimer: () => void }>();
  #stopped = false;

  isTyping(subject: string): boolean {
    return this.#typing.has(subject);
  }

  /** A contact begins to type, or goes on. */
  begin(deps: Deps, subject: string, typist: TypingContact): void {
    this.#typing.get(subject)?.stopTimer();
    const stopTimer = this.#stopped ? () => {} : deps.clock.after(TYPING_MS_MAX, () => this.#expire(deps, subject));
    this.#typing.set(subject, { typist, stopTimer });
    const [first] = this.#typing.keys();
    if (this.#typing.size > TYPISTS_MAX && first !== undefined) this.#expire(deps, first);
  }

  /** Restarts the timer of a contact who is typing already. */
  extend(deps: Deps, subject: string): void {
    const open = this.#typing.get(subject);
    if (open !== undefined) this.begin(deps, subject, open.typist);
  }

  /** Commits the event that a contact stopped, together with `also`; commits only `also` if the contact was not typing. */
  async end(deps: Deps, subject: string, also: Operation[] = []): Promise<void> {
    const open = this.#typing.get(subject);
    if (open !== undefined)
      await decide(deps, () => ({ transaction: [typingEvent(deps, open.typist, false), ...also], value: null }));
    else await acknowledgeOnly(deps, also);
    open?.stopTimer();
    this.#typing.delete(subject);
  }

  /** Forgets the contacts who type to a customer without an event: the conversations were deleted. */
  forget(customerId: CustomerId): void {
    for (const [subject, { typist, stopTimer }] of this.#typing) {
      if (typist.customerId !== customerId) continue;
      stopTimer();
      this.#typing.delete(subject);
    }
  }

  /** Emits that everybody stopped, since the service no longer receives their signals. */
  async stop(deps: Deps): Promise<void> {
    this.#stopped = true;
    for (const { stopTimer } of this.#typing.values()) stopTimer();
    await Promise.all([...this.#typing.keys()].map((subject) => this.#finish(deps, subject)));
  }

  #expire(deps: Deps, subject: string): void {
    void this.#finish(deps, subject);
  }

  async #finish(deps: Deps, subject: string): Promise<void> {
    try {
      await deps.serial.run(subject, () => this.end(deps, subject));
    } catch (error) {
      deps.observer.fault("typing-contacts", error);
      // Mostly a full disk: the event is tried again later.
      this.extend(deps, subject);
    }
  }
}

/** The operation that emits `typing.indicator`. */
export function typingEvent(deps: Deps, typist: TypingContact, typing: boolean): Operation {
  const { chatId, customerId, from, to, channel } = typist;
  const data: TypingEventData = { chatId, chatGuid: chatId, from, to, channel, typing };
  const event = makeEvent(
    {
      id: deps.newId("evt"),
      customerId,
      type: "typing.indicator",
      messageId: null,
      sequence: 0,
      correlationId: newCorrelationId(deps.random),
      createdAt: deps.clock.now(),
    },
    data,
  );
  return { op: "event", event, callbackUrl: null };
}
