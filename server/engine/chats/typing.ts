/** Applies typing signals: one event when a contact begins to type and one when the contact stops. */

import type { Chat } from "../../core/chat.ts";
import type { InstanceId } from "../../core/id.ts";
import { parseAddress } from "../../core/phone.ts";
import { phoneKey } from "../../core/phone-forms.ts";
import type { TypingSignal } from "../../providers/provider.ts";
import { acknowledgementOf, acknowledgeOnly } from "../acknowledge.ts";
import { decide } from "../commit.ts";
import type { With } from "../engine-deps.ts";
import { prepareGroup } from "./groups.ts";
import { duplicateThread, prepareThread, retryDuplicateThread } from "./threads.ts";
import { typingEvent } from "./typing-contacts.ts";

/** Applies a typing signal of an instance: one event when a contact begins, one when the contact stops. */
export async function receiveTyping(
  deps: With<"configCache" | "threadCache" | "typingContacts">,
  instanceId: InstanceId,
  signal: TypingSignal,
): Promise<void> {
  const number = await deps.configCache.numberAt(signal.to);
  const forgets = acknowledgementOf(instanceId, signal);
  if (number === null) {
    deps.observer.fault("typing", new Error("a typing signal is for an address that is no number of this service"));
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
            : prepareGroup(deps, { ...place, snapshot: group });
        const { chat, make } = await thread;
        return {
          transaction: [...make, typingEvent(deps, { ...typist, chatId: chat.id }, true), ...forgets],
          value: chat,
        };
      });
      if (begun.taken) throw duplicateThread();
      return begun.value;
    });
    typingContacts.begin(deps, subject, { ...typist, chatId: chat.id });
  });
}

/**
 * A message from a contact ends the contact's typing, and the event of the end precedes the message's event. Returns at
 * once if the contact was not typing.
 */
export function endTyping(deps: With<"typingContacts">, chat: TypingChat, from: string): Promise<void> | undefined {
  const { typingContacts } = deps;
  const subject = subjectOf(chat, from);
  if (!typingContacts.isTyping(subject) && !deps.serial.isBusy(subject)) return undefined;
  return deps.serial.run(subject, () => typingContacts.end(deps, subject));
}

/** The properties of a chat that identify a typing contact. */
type TypingChat = Pick<Chat, "customerId" | "from" | "reference">;

function subjectOf({ customerId, from: to, reference }: TypingChat, from: string): string {
  return `typing ${JSON.stringify([customerId, to, phoneKey(from), reference])}`;
}
