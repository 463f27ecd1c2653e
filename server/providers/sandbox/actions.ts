/** What the sandbox does when it is asked to edit, react, type and so on: what a phone with iMessage would. */

import { createHash } from "node:crypto";
import type { Clock } from "../../clock.ts";
import type { CustomerId } from "../../core/id.ts";
import type { ActionResult, Actions, ActionTarget, Conversation } from "../provider.ts";
import type { SettingsOf } from "./settings.ts";

const DONE: ActionResult = { done: true };

const LEFT_AS_IT_IS: ActionResult = {
  done: false,
  reason: "the phone left the message as it is (it is set to take no edits)",
};

/** What the sandbox called a message: one it took, or one that a phone wrote. */
const REFERENCE = /^sbx_/;

/**
 * The commands. Nothing of them has to be kept: what a message says, who reads and who is in a group is on record in
 * the service, and no contact of the sandbox looks at it again.
 */
export function createActions(settings: SettingsOf, clock: Clock): Actions {
  let groups = 0;
  return {
    react: async (target) => onPhone(target),
    edit: async (target) => {
      const { customerId, contact } = target.chat;
      // As where Messages on a Mac says that it was done, and the message is as it was.
      if (contact !== null && !settings(customerId, contact).edits) return LEFT_AS_IT_IS;
      return onPhone(target);
    },
    unsend: async (target) => onPhone(target),
    markRead: async (chat) => onImessage(chat),
    markUnread: async (chat) => onImessage(chat),
    setTyping: async (chat) => onImessage(chat),
    async createGroup({ customerId, from, participants }) {
      groups += 1;
      // Unlike every other one of this process by the count, and of the former ones by the time.
      const parts = [customerId, from, ...participants, clock.real(), groups];
      const digest = createHash("sha256").update(parts.join("\n")).digest("hex");
      return { done: true, reference: `sbx_group_${digest.slice(0, 24)}` };
    },
    renameGroup: async (chat) => onImessage(chat),
    addParticipant: async (chat, participant) => {
      if (settings(chat.customerId, participant).imessage) return onImessage(chat);
      return { done: false, reason: `${participant} is not on iMessage` };
    },
    removeParticipant: async (chat) => onImessage(chat),
    leaveGroup: async (chat) => onImessage(chat),
    availability: async (customerId: CustomerId, address: string) => {
      const { imessage } = settings(customerId, address);
      return { imessage, facetime: imessage };
    },
    focus: async () => ({ focused: false }),
    // What phones send comes with its bytes.
    fetch: async () => null,
  };
}

function onPhone({ reference, chat }: ActionTarget): ActionResult {
  if (!REFERENCE.test(reference)) return { done: false, reason: "the phone has no such message" };
  return onImessage(chat);
}

function onImessage({ channel }: Conversation): ActionResult {
  return channel === "imessage" ? DONE : { done: false, reason: "SMS knows no such thing" };
}
