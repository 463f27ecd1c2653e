/** Routes of the sandbox: its inbox, its phones, its clock. */

import type { CallOptions } from "./paging.ts";
import { segment } from "./paging.ts";
import type { Request } from "./request.ts";
import type {
  Call,
  Chat,
  Event,
  EventType,
  Inbox,
  InboxBehaviour,
  Message,
  PhoneCall,
  PhoneGroupPhoto,
  PhoneKeptAudio,
  PhoneMessage,
  PhonePayment,
  PhoneReaction,
  PhoneSettings,
  PhoneTyping,
  Reacted,
  SandboxClock,
  SandboxReset,
  Typing,
} from "./wire.ts";

/** Filters of the event to wait for: the first that matches, past events included; `after` is an event id. */
export interface WaitQuery<Type extends EventType = EventType> {
  type?: Type | undefined;
  messageId?: string | undefined;
  after?: string | undefined;
  /** At most 30. */
  timeoutSeconds?: number | undefined;
}

/** The routes under `/v1/sandbox`. */
export function sandboxRoutes(request: Request) {
  return {
    inbox: {
      /**
       * See what the inbox received. The built-in receiver of webhooks: it gets every event from the first start on.
       */
      get: (options?: CallOptions) => request<Inbox>("GET", "/v1/sandbox/inbox", options),
      /** Empty the inbox. Its behaviour stays. */
      clear: (options?: CallOptions) => request<Inbox>("DELETE", "/v1/sandbox/inbox", options),
      /** Tell the inbox how to answer. To fail, to be slow, to hang. */
      behave: (behaviour: Partial<InboxBehaviour>, options?: CallOptions) =>
        request<Inbox>("PUT", "/v1/sandbox/inbox/behaviour", { ...options, body: behaviour }),
    },
    /** The phone of a contact, by its number: act as the contact. */
    phone: (number: string) => phoneRoutes(request, number),
    clock: {
      /** Read the clock. What time the service takes it to be, and how far that is ahead. */
      get: (options?: CallOptions) => request<SandboxClock>("GET", "/v1/sandbox/clock", options),
      /**
       * Move the clock. Forward by `advance`, or back to the real time by `reset`.
       * @remarks Forward by a duration such as `30s` or `2h`.
       */
      advance: (by: string, options?: CallOptions) =>
        request<SandboxClock>("POST", "/v1/sandbox/clock", { ...options, body: { advance: by } }),
      /**
       * Move the clock. Forward by `advance`, or back to the real time by `reset`.
       * @remarks Back to the real time.
       */
      reset: (options?: CallOptions) =>
        request<SandboxClock>("POST", "/v1/sandbox/clock", { ...options, body: { reset: true } }),
    },
    /**
     * Wait for an event. The first stored event that matches, past ones included; `data` is null when none came in
     * time.
     * @remarks Null if no such event came in time.
     */
    wait: <Type extends EventType = EventType>(query: WaitQuery<Type> = {}, options?: CallOptions) =>
      request<Event<Type> | null>("GET", "/v1/sandbox/wait", { ...options, query }),
    /**
     * Start anew. Deletes this customer's messages, chats, contacts, opt-outs, payments, calls, events, deliveries and
     * idempotency keys, and what phones still owe.
     */
    reset: (options?: CallOptions) => request<SandboxReset>("POST", "/v1/sandbox/reset", options),
  };
}

/** Routes that act on the phone of a contact. */
function phoneRoutes(request: Request, number: string) {
  const path = `/v1/sandbox/phones/${segment(number)}`;
  return {
    /**
     * Write as the contact. To one of your numbers, the default one unless `to` is given; answers the message as you
     * receive it.
     */
    write: (message: PhoneMessage, options?: CallOptions) =>
      request<Message>("POST", `${path}/messages`, { ...options, body: message }),
    /** Type as the contact. Begins or ceases to type. */
    type: (typing: PhoneTyping, options?: CallOptions) =>
      request<Typing>("POST", `${path}/typing`, { ...options, body: typing }),
    /**
     * React as the contact. To a message that is on this phone, with one of the six or any single emoji; with a minus
     * the reaction is taken back.
     */
    react: (reaction: PhoneReaction, options?: CallOptions) =>
      request<Reacted>("POST", `${path}/reactions`, { ...options, body: reaction }),
    /**
     * Keep an audio message as the contact. One that you sent with `isAudioMessage`, and that is on this phone:
     * `message.audio_kept` tells of it, once.
     */
    keepAudio: (kept: PhoneKeptAudio, options?: CallOptions) =>
      request<Message>("POST", `${path}/audio-kept`, { ...options, body: kept }),
    /** Change a group's photo as the contact. Of a group that the contact is in: `chat.photo.changed` tells of it. */
    changePhoto: (changed: PhoneGroupPhoto, options?: CallOptions) =>
      request<Chat>("POST", `${path}/group-photo`, { ...options, body: changed }),
    /**
     * Pay as the contact. An amount, or what a payment request asks for; answers the message that carries the payment.
     */
    pay: (payment: PhonePayment, options?: CallOptions) =>
      request<Message>("POST", `${path}/payments`, { ...options, body: payment }),
    /** Call as the contact. By FaceTime: rings, is answered, hangs up, is missed. */
    call: (call: PhoneCall, options?: CallOptions) =>
      request<Call>("POST", `${path}/calls`, { ...options, body: call }),
    /** See how a phone behaves. Towards this customer. */
    settings: (options?: CallOptions) => request<PhoneSettings>("GET", `${path}/settings`, options),
    /** Change how a phone behaves. Changes what the body names. */
    change: (settings: Partial<PhoneSettings>, options?: CallOptions) =>
      request<PhoneSettings>("PUT", `${path}/settings`, { ...options, body: settings }),
  };
}
