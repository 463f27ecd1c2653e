/** Actions of the sandbox: edits, reactions, typing and so on. They behave as on a phone with iMessage. */

import { createHash } from "node:crypto";
import type { Clock } from "../../clock.ts";
import type { CustomerId } from "../../core/id.ts";
import type { ActionResult, Actions, ActionTarget, Conversation } from "../provider.ts";
import type { SettingsOf } from "./settings.ts";

const DONE: ActionResult = { done: true };

const LEFT_AS_IT_IS: ActionResult = {
  done: false,
  reason: "the phone did not change the message (its setting `edits` is off)",
};

/** Matches the sandbox's references: of messages it accepted, and of messages its phones wrote. */
const REFERENCE = /^sbx_/;

/**
 * Creates the actions. The sandbox stores nothing for them: the service already records texts, read marks and groups, and
 * no contact of the sandbox looks at them again.
 */
export function createActions(settings: SettingsOf, clock: Clock): Actions {
  let groups = 0;
  return {
    react: async (target) => onPhone(target),
    edit: async (target) => {
      const { customerId, contact } = target.chat;
      // As on a Mac where Messages reports success and leaves the message unchanged.
      if (contact !== null && !settings(customerId, contact).edits) return LEFT_AS_IT_IS;
      return onPhone(target);
    },
    unsend: async (target) => onPhone(target),
    markRead: async (chat) => onImessage(chat),
    markUnread: async (chat) => onImessage(chat),
    setTyping: async (chat) => onImessage(chat),
    async createGroup({ customerId, from, participants }) {
      groups += 1;
      // The count makes the reference unique in this process, the time across processes.
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
    // Files from phones arrive with their bytes.
    fetch: async () => null,
  };
}

function onPhone({ reference, chat }: ActionTarget): ActionResult {
  if (!REFERENCE.test(reference)) return { done: false, reason: "the phone does not have this message" };
  return onImessage(chat);
}

function onImessage({ channel }: Conversation): ActionResult {
  return channel === "imessage" ? DONE : { done: false, reason: "SMS does not support this" };
}
