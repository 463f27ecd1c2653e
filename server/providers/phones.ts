/** The phones of contacts, played by the provider itself. Only the sandbox has them. */

import type { CallAction, Channel, PhoneSettings } from "../../sdk/wire.ts";
import type { InboundAttachment } from "../core/attachment.ts";
import type { GroupSnapshot } from "../core/group.ts";
import type { CustomerId } from "../core/id.ts";
import type { ParsedReaction } from "../core/reaction.ts";

/**
 * Contacts' phones. Each action does what a person would do on the phone of `number` towards the customer's address
 * `to`, and resolves once the service has it on disk. `name` identifies the action: the same action again under the
 * same name is the same message, reaction or call, and changes nothing.
 */
export interface Phones {
  /** Writes a message. Returns its inbound reference. */
  write(
    phone: Phone,
    name: string,
    message: {
      text: string | null;
      attachments: readonly InboundAttachment[];
      /** The files come so long after the message, in milliseconds, an hour at most; by default they come with it. */
      attachmentsAfterMs?: number;
      replyTo: string | null;
      channel: Channel;
      /** The group that the message is written to; null for a one-to-one thread. */
      group: GroupSnapshot | null;
    },
  ): Promise<{ reference: string }>;
  type(phone: Phone, typing: boolean): Promise<void>;
  react(
    phone: Phone,
    name: string,
    target: { reference: string; text: string | null },
    reaction: ParsedReaction,
  ): Promise<void>;
  /** Keeps the audio message with this reference. */
  keepAudio(phone: Phone, reference: string): Promise<void>;
  changePhoto(phone: Phone, name: string, group: GroupSnapshot): Promise<void>;
  /** Pays. Returns the inbound reference of the message with the payment. */
  pay(phone: Phone, name: string, amountCents: number): Promise<{ reference: string }>;
  /**
   * Rings, answers, hangs up or misses a call. Returns the call's id; null if there is no such call, or if it rings
   * already.
   */
  call(phone: Phone, name: string, action: CallAction, isVideo: boolean): Promise<{ callUuid: string } | null>;
  settings(customerId: CustomerId, number: string): PhoneSettings;
  change(customerId: CustomerId, number: string, settings: Partial<PhoneSettings>): Promise<PhoneSettings>;
  /**
   * Deletes a customer's phone settings, everything that the phones did for the customer, and their pending signals.
   */
  reset(customerId: CustomerId): Promise<void>;
}

/** A contact's phone, seen from one address of one customer. */
export interface Phone {
  customerId: CustomerId;
  number: string;
  to: string;
}
