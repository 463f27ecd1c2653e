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
       * Get the inbox. The inbox is the built-in receiver of webhooks: it receives every event from the first start on.
       */
      get: (options?: CallOptions) => request<Inbox>("GET", "/v1/sandbox/inbox", options),
      /** Empty the inbox. Deletes its requests; its behaviour stays. */
      clear: (options?: CallOptions) => request<Inbox>("DELETE", "/v1/sandbox/inbox", options),
      /** Set how the inbox responds. Makes the inbox fail, respond slowly or hang. */
      behave: (behaviour: Partial<InboxBehaviour>, options?: CallOptions) =>
        request<Inbox>("PUT", "/v1/sandbox/inbox/behaviour", { ...options, body: behaviour }),
    },
    /** The phone of a contact, by its number: act as the contact. */
    phone: (number: string) => phoneRoutes(request, number),
    clock: {
      /** Get the clock. Returns the time of the service, and how far it is ahead of real time. */
      get: (options?: CallOptions) => request<SandboxClock>("GET", "/v1/sandbox/clock", options),
      /**
       * Move the clock. Moves the clock forward by `advance`, or back to real time by `reset`.
       * @remarks Forward by a duration such as `30s` or `2h`.
       */
      advance: (by: string, options?: CallOptions) =>
        request<SandboxClock>("POST", "/v1/sandbox/clock", { ...options, body: { advance: by } }),
      /**
       * Move the clock. Moves the clock forward by `advance`, or back to real time by `reset`.
       * @remarks Back to the real time.
       */
      reset: (options?: CallOptions) =>
        request<SandboxClock>("POST", "/v1/sandbox/clock", { ...options, body: { reset: true } }),
    },
    /**
     * Wait for an event. Returns the first stored event that matches, past events included; `data` is null after the
     * timeout.
     * @remarks Null if no such event came in time.
     */
    wait: <Type extends EventType = EventType>(query: WaitQuery<Type> = {}, options?: CallOptions) =>
      request<Event<Type> | null>("GET", "/v1/sandbox/wait", { ...options, query }),
    /**
     * Reset the sandbox. Deletes this customer's messages, chats, contacts, opt-outs, payments, calls, events,
     * deliveries and idempotency keys, and the pending actions of phones.
     */
    reset: (options?: CallOptions) => request<SandboxReset>("POST", "/v1/sandbox/reset", options),
  };
}

/** Routes that act on the phone of a contact. */
function phoneRoutes(request: Request, number: string) {
  const path = `/v1/sandbox/phones/${segment(number)}`;
  return {
    /** Send a message as the contact. Sends a message to one of your numbers and returns it as you receive it. */
    write: (message: PhoneMessage, options?: CallOptions) =>
      request<Message>("POST", `${path}/messages`, { ...options, body: message }),
    /** Type as the contact. Starts or stops typing. */
    type: (typing: PhoneTyping, options?: CallOptions) =>
      request<Typing>("POST", `${path}/typing`, { ...options, body: typing }),
    /**
     * React as the contact. Reacts to a message on this phone with one of the six reactions or a single emoji; a minus
     * in front removes it.
     */
    react: (reaction: PhoneReaction, options?: CallOptions) =>
      request<Reacted>("POST", `${path}/reactions`, { ...options, body: reaction }),
    /**
     * Keep an audio message as the contact. Keeps a message that you sent with `isAudioMessage` to this phone; emits
     * `message.audio_kept` once, and returns the message.
     */
    keepAudio: (kept: PhoneKeptAudio, options?: CallOptions) =>
      request<Message>("POST", `${path}/audio-kept`, { ...options, body: kept }),
    /**
     * Change a group's photo as the contact. Emits `chat.photo.changed` for a group that the contact is in, and returns
     * the group.
     */
    changePhoto: (changed: PhoneGroupPhoto, options?: CallOptions) =>
      request<Chat>("POST", `${path}/group-photo`, { ...options, body: changed }),
    /**
     * Pay as the contact. Pays an amount, or that of a payment request, and returns the message that carries the
     * payment.
     */
    pay: (payment: PhonePayment, options?: CallOptions) =>
      request<Message>("POST", `${path}/payments`, { ...options, body: payment }),
    /** Call as the contact. Rings by FaceTime, answers, hangs up, or misses the call. */
    call: (call: PhoneCall, options?: CallOptions) =>
      request<Call>("POST", `${path}/calls`, { ...options, body: call }),
    /** Get the settings of a phone. Returns how the phone behaves towards this customer. */
    settings: (options?: CallOptions) => request<PhoneSettings>("GET", `${path}/settings`, options),
    /** Change the settings of a phone. Changes the fields of the body. */
    change: (settings: Partial<PhoneSettings>, options?: CallOptions) =>
      request<PhoneSettings>("PUT", `${path}/settings`, { ...options, body: settings }),
  };
}
