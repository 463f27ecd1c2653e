/** Phones of contacts that a provider plays itself, so that there is somebody at the other end: only the sandbox has them. */

import type { CallAction, Channel, PhoneSettings } from "../../sdk/wire.ts";
import type { CustomerId } from "../core/id.ts";
import type { ParsedReaction } from "../core/reaction.ts";
import type { GroupSnapshot, InboundAttachment } from "./provider.ts";

/**
 * Contacts' phones that the provider keeps itself: only the sandbox has them. Each action is what a person would do on
 * the phone of `number`, towards the customer's address `to`; it resolves when the service has it on disk. `name` is the
 * caller's for the action: done again under the same name it is the same message, reaction or call, and changes nothing.
 */
export interface Phones {
  /** Writes, and answers the reference of the inbound message. */
  write(
    phone: Phone,
    name: string,
    message: {
      text: string | null;
      attachments: readonly InboundAttachment[];
      replyTo: string | null;
      channel: Channel;
    },
  ): Promise<{ reference: string }>;
  type(phone: Phone, typing: boolean): Promise<void>;
  react(
    phone: Phone,
    name: string,
    target: { reference: string; text: string | null },
    reaction: ParsedReaction,
  ): Promise<void>;
  /** Keeps the audio message that the provider calls `reference`. */
  keepAudio(phone: Phone, reference: string): Promise<void>;
  /** Gives a group another photo. */
  changePhoto(phone: Phone, name: string, group: GroupSnapshot): Promise<void>;
  /** Pays, and answers the reference of the inbound message that carries the payment. */
  pay(phone: Phone, name: string, amountCents: number): Promise<{ reference: string }>;
  /**
   * Rings, answers, hangs up or misses; answers the call's own name. Null when there is no call to do it to, or already
   * one where it is to ring.
   */
  call(phone: Phone, name: string, action: CallAction, isVideo: boolean): Promise<{ callUuid: string } | null>;
  settings(customerId: CustomerId, number: string): PhoneSettings;
  change(customerId: CustomerId, number: string, settings: Partial<PhoneSettings>): Promise<PhoneSettings>;
  /** Forgets what the phones did for a customer, what they still owe, and how they were set. */
  reset(customerId: CustomerId): Promise<void>;
}

/** A contact's phone, towards one address of one customer. */
export interface Phone {
  customerId: CustomerId;
  number: string;
  to: string;
}
