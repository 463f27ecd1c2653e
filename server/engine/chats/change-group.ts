/** Changes groups for customers: rename, add and remove participants, leave. */

import { GROUP_MAX, GROUP_MIN } from "../../../sdk/wire.ts";
import type { Chat } from "../../core/chat.ts";
import { ApiError, invalidField, refusedField } from "../../core/error.ts";
import { patchGroup } from "../../core/group.ts";
import type { CustomerId } from "../../core/id.ts";
import { parseAddress } from "../../core/phone.ts";
import { distinctPhones, isSamePhone, phoneKey, samePhoneIn, withoutPhones } from "../../core/phone-forms.ts";
import type { OptOutPlace } from "../contacts/opt-out-change.ts";
import { isOptedOut } from "../contacts/opt-outs.ts";
import type { Deps } from "../deps.ts";
import type { With } from "../engine-deps.ts";
import { checkKnownRecipient } from "../messages/recipient.ts";
import { type ChatActionRequest, type ChatActionResult, completeAction, runChatAction } from "./chat-action.ts";
import type { ReadyChat } from "./require-chat.ts";

/** Renames a group and returns its chat. */
export async function renameGroup(
  deps: With<"configCache" | "providers" | "threadCache">,
  asked: ChatActionRequest,
  name: string,
): Promise<ChatActionResult> {
  return await runChatAction(deps, asked, {
    route: ["PUT", "/name"],
    body: { name },
    async ask(ready) {
      requireGroup(ready, "named");
      await completeAction(deps, ready, "renameGroup", (rename, abort) => rename(ready.conversation, name, abort));
    },
    change: (chat, context) => patchGroup(chat, { name }, chat.from, context),
  });
}

/**
 * Adds a participant to a group and returns the group; a present participant stays. `field`: the name of the field in
 * the request.
 */
export async function addParticipant(
  deps: With<"configCache" | "optOutCache" | "providers" | "threadCache">,
  asked: ChatActionRequest,
  { field, value }: { field: string; value: string },
): Promise<ChatActionResult> {
  const participant = await requireParticipant(deps, asked.customerId, { field, value });
  return await runChatAction(deps, asked, {
    route: ["POST", "/participants"],
    body: { participant: phoneKey(participant) },
    async ask(ready) {
      requireGroup(ready, "joined by others");
      const { chat, conversation } = ready;
      if (isSamePhone(participant, chat.from))
        throw invalidField(field, "is your own number, which is in the group already");
      if (samePhoneIn(chat.participants, participant) !== undefined) return;
      if (chat.participants.length >= GROUP_MAX) {
        throw invalidField(field, `cannot be added: a group has at most ${GROUP_MAX} participants`);
      }
      await refuseOptedOut(deps, { customerId: chat.customerId, number: chat.from, contact: participant }, field);
      await completeAction(deps, ready, "addParticipant", (add, abort) => add(conversation, participant, abort));
    },
    change: (chat, context) => {
      const participants = distinctPhones([...chat.participants, participant]);
      return patchGroup(chat, { participants }, chat.from, context);
    },
  });
}

/** Removes a participant from a group and returns it. Throws 404 `NOT_FOUND` if the address is not in the group. */
export async function removeParticipant(
  deps: With<"configCache" | "providers" | "threadCache">,
  asked: ChatActionRequest,
  value: string,
): Promise<ChatActionResult> {
  const wanted = parseAddress(value)?.address ?? value;
  const others = (chat: Chat) => withoutPhones(chat.participants, [wanted]);
  return await runChatAction(deps, asked, {
    route: ["DELETE", `/participants/${phoneKey(wanted)}`],
    body: {},
    async ask(ready) {
      requireGroup(ready, "left by others");
      const { chat, conversation } = ready;
      // The provider knows the member by the form that the group has.
      const participant = samePhoneIn(chat.participants, wanted);
      if (participant === undefined) throw new ApiError("NOT_FOUND", `${wanted.slice(0, 100)} is not in ${chat.id}.`);
      if (others(chat).length < GROUP_MIN) {
        throw new ApiError(
          "INVALID_STATUS",
          `${chat.id} has ${GROUP_MIN} participants, and needs them; leave it instead.`,
        );
      }
      await completeAction(deps, ready, "removeParticipant", (remove, abort) =>
        remove(conversation, participant, abort),
      );
    },
    change: (chat, context) => patchGroup(chat, { participants: others(chat) }, chat.from, context),
  });
}

/** Leaves a group and returns it. The customer can do nothing more in it, unless a member adds the customer again. */
export async function leaveGroup(
  deps: With<"configCache" | "providers" | "threadCache">,
  asked: ChatActionRequest,
): Promise<ChatActionResult> {
  return await runChatAction(deps, asked, {
    route: ["POST", "/leave"],
    body: {},
    async ask(ready) {
      requireGroup(ready, "left");
      await completeAction(deps, ready, "leaveGroup", (leave, abort) => leave(ready.conversation, abort));
    },
    change: (chat, context) => patchGroup(chat, { left: true }, chat.from, context),
  });
}

/**
 * Requires a group over iMessage: throws 400 `INVALID_STATUS` for a one-to-one thread, `GROUP_SMS_UNSUPPORTED` for an
 * SMS group.
 */
function requireGroup({ chat }: ReadyChat, what: string): void {
  if (!chat.isGroup) {
    throw new ApiError(
      "INVALID_STATUS",
      `${chat.id} is a conversation with ${chat.contact} alone; only a group can be ${what}.`,
    );
  }
  if (chat.channel === "imessage") return;
  throw new ApiError("GROUP_SMS_UNSUPPORTED", `${chat.id} is a group over SMS, which cannot be ${what}.`);
}

/** The address of a new participant. Throws 400 `INVALID_PHONE_NUMBER` for an invalid address. */
async function requireParticipant(
  deps: Deps,
  customerId: CustomerId,
  { field, value }: { field: string; value: string },
): Promise<string> {
  const { address, problem } = await checkKnownRecipient(deps, customerId, value);
  if (address !== null) return address;
  throw refusedField("INVALID_PHONE_NUMBER", field, problem);
}

/** Throws 403 `RECIPIENT_OPTED_OUT` if the participant of this field has opted out of messages from the number. */
export async function refuseOptedOut(deps: With<"optOutCache">, place: OptOutPlace, field: string): Promise<void> {
  if (!(await isOptedOut(deps, place))) return;
  const message = `${place.contact} has opted out of messages from ${place.number}`;
  throw refusedField("RECIPIENT_OPTED_OUT", field, message);
}
