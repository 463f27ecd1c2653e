/** Typing of contacts: told of once when it begins and once when it ends, which it does by itself after a minute. */

import type { Channel, TypingEventData } from "../../../sdk/wire.ts";
import type { Chat } from "../../core/chat.ts";
import { makeEvent } from "../../core/event.ts";
import { type ChatId, type CustomerId, type InstanceId, newCorrelationId } from "../../core/id.ts";
import { parseAddress } from "../../core/phone.ts";
import type { TypingSignal } from "../../providers/provider.ts";
import type { Operation } from "../../store/store.ts";
import { acknowledgementOf, acknowledgeOnly } from "../acknowledge.ts";
import { decide } from "../commit.ts";
import type { Deps } from "../deps.ts";
import { prepareGroup } from "./groups.ts";
import { duplicateThread, prepareThread, retryDuplicateThread } from "./threads.ts";

/** Without news for so long, a contact has stopped typing. Real time, as phones count it. */
export const TYPING_MS_MAX = 60_000;
/** Contacts typing at once that are kept track of; beyond it the one who began first counts as having stopped. */
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

  /** Somebody begins to type, or goes on. */
  begin(deps: Deps, subject: string, typist: TypingContact): void {
    this.#typing.get(subject)?.stopTimer();
    const stopTimer = this.#stopped ? () => {} : deps.clock.after(TYPING_MS_MAX, () => this.#expire(deps, subject));
    this.#typing.set(subject, { typist, stopTimer });
    const [first] = this.#typing.keys();
    if (this.#typing.size > TYPISTS_MAX && first !== undefined) this.#expire(deps, first);
  }

  /** Goes on with somebody who is typing already. */
  extend(deps: Deps, subject: string): void {
    const open = this.#typing.get(subject);
    if (open !== undefined) this.begin(deps, subject, open.typist);
  }

  /** Tells that somebody stopped; resolves when that is on disk, with `also`. Whoever was not typing stops silently. */
  async end(deps: Deps, subject: string, also: Operation[] = []): Promise<void> {
    const open = this.#typing.get(subject);
    if (open !== undefined)
      await decide(deps, () => ({ unit: [told(deps, open.typist, false), ...also], value: null }));
    else await acknowledgeOnly(deps, also);
    open?.stopTimer();
    this.#typing.delete(subject);
  }

  /** Forgets who types to a customer, and tells nobody: the conversations are gone. */
  forget(customerId: CustomerId): void {
    for (const [subject, { typist, stopTimer }] of this.#typing) {
      if (typist.customerId !== customerId) continue;
      stopTimer();
      this.#typing.delete(subject);
    }
  }

  /** Tells that everybody stopped: nobody listens to them any more. */
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
      deps.observer.fault("typing", error);
      // A full disk, mostly: it is told later that they stopped.
      this.extend(deps, subject);
    }
  }
}

/** Applies a typing signal of an instance: one event when somebody begins, one when they stop. */
export async function receiveTyping(deps: Deps, instanceId: InstanceId, signal: TypingSignal): Promise<void> {
  const number = await deps.configCache.numberAt(signal.to);
  const forgets = acknowledgementOf(instanceId, signal);
  if (number === null) {
    deps.observer.fault("typing", new Error("somebody types to an address that is no number of this service"));
    return acknowledgeOnly(deps, forgets);
  }
  const { typingContacts } = deps;
  const { customerId, address: to } = number;
  const from = parseAddress(signal.from)?.address ?? signal.from;
  const subject = subjectOf({ customerId, from: to, reference: signal.group?.reference ?? null }, from);
  await deps.serial.run(subject, async () => {
    if (!signal.typing) return typingContacts.end(deps, subject, forgets);
    const { channel, group } = signal;
    const typist = { customerId, from, to, channel };
    if (typingContacts.isTyping(subject)) {
      await acknowledgeOnly(deps, forgets);
      typingContacts.extend(deps, subject);
      return;
    }
    const chat = await retryDuplicateThread(async () => {
      const begun = await decide(deps, async () => {
        const place = { customerId, from: to, channel, instanceId };
        const thread =
          group === null
            ? prepareThread(deps, { ...place, contact: from })
            : prepareGroup(deps, { ...place, sighting: group });
        const { chat, make } = await thread;
        return { unit: [...make, told(deps, { ...typist, chatId: chat.id }, true), ...forgets], value: chat };
      });
      if (begun.taken) throw duplicateThread();
      return begun.value;
    });
    typingContacts.begin(deps, subject, { ...typist, chatId: chat.id });
  });
}

/**
 * A contact's message has come: who sent it types no more, and that is told of before the message is. Answers at once
 * where they were not typing.
 */
export function endTyping(deps: Deps, chat: TypingChat, from: string): Promise<void> | undefined {
  const { typingContacts } = deps;
  const subject = subjectOf(chat, from);
  if (!typingContacts.isTyping(subject) && !deps.serial.isBusy(subject)) return undefined;
  return deps.serial.run(subject, () => typingContacts.end(deps, subject));
}

/** What of a chat tells who types in it. */
type TypingChat = Pick<Chat, "customerId" | "from" | "reference">;

function subjectOf({ customerId, from: to, reference }: TypingChat, from: string): string {
  return `typing ${JSON.stringify([customerId, to, from, reference])}`;
}

function told(deps: Deps, typist: TypingContact, typing: boolean): Operation {
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
