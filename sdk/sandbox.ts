/** The sandbox: its inbox, its phones, its clock. */

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

/** Which event to wait for: the first that matches, past ones included; `after` is an event id. */
export interface WaitQuery<Type extends EventType = EventType> {
  type?: Type | undefined;
  messageId?: string | undefined;
  after?: string | undefined;
  /** 30 at the most. */
  timeoutSeconds?: number | undefined;
}

/** The routes under `/v1/sandbox`. */
export function sandboxRoutes(request: Request) {
  return {
    inbox: {
      get: (options?: CallOptions) => request<Inbox>("GET", "/v1/sandbox/inbox", options),
      clear: (options?: CallOptions) => request<Inbox>("DELETE", "/v1/sandbox/inbox", options),
      behave: (behaviour: Partial<InboxBehaviour>, options?: CallOptions) =>
        request<Inbox>("PUT", "/v1/sandbox/inbox/behaviour", { ...options, body: behaviour }),
    },
    phone: (number: string) => phoneRoutes(request, number),
    clock: {
      get: (options?: CallOptions) => request<SandboxClock>("GET", "/v1/sandbox/clock", options),
      /** Moves it on by a duration such as `30s` or `2h`. */
      advance: (by: string, options?: CallOptions) =>
        request<SandboxClock>("POST", "/v1/sandbox/clock", { ...options, body: { advance: by } }),
      /** Back to the real time. */
      reset: (options?: CallOptions) =>
        request<SandboxClock>("POST", "/v1/sandbox/clock", { ...options, body: { reset: true } }),
    },
    /** The event, or null when none came in time. */
    wait: <Type extends EventType = EventType>(query: WaitQuery<Type> = {}, options?: CallOptions) =>
      request<Event<Type> | null>("GET", "/v1/sandbox/wait", { ...options, query }),
    /** Deletes what this customer wrote, heard and knows; keys, numbers and endpoints stay. */
    reset: (options?: CallOptions) => request<SandboxReset>("POST", "/v1/sandbox/reset", options),
  };
}

/** What a person does on the phone of a contact. */
function phoneRoutes(request: Request, number: string) {
  const path = `/v1/sandbox/phones/${segment(number)}`;
  return {
    /** Writes to one of the customer's numbers; answers the message as the customer sees it. */
    write: (message: PhoneMessage, options?: CallOptions) =>
      request<Message>("POST", `${path}/messages`, { ...options, body: message }),
    type: (typing: PhoneTyping, options?: CallOptions) =>
      request<Typing>("POST", `${path}/typing`, { ...options, body: typing }),
    react: (reaction: PhoneReaction, options?: CallOptions) =>
      request<Reacted>("POST", `${path}/reactions`, { ...options, body: reaction }),
    /** Keeps an audio message of the customer's, and answers it. */
    keepAudio: (kept: PhoneKeptAudio, options?: CallOptions) =>
      request<Message>("POST", `${path}/audio-kept`, { ...options, body: kept }),
    /** Gives a group another photo, and answers the group. */
    changePhoto: (changed: PhoneGroupPhoto, options?: CallOptions) =>
      request<Chat>("POST", `${path}/group-photo`, { ...options, body: changed }),
    /** Pays; answers the message that carries the payment. */
    pay: (payment: PhonePayment, options?: CallOptions) =>
      request<Message>("POST", `${path}/payments`, { ...options, body: payment }),
    call: (call: PhoneCall, options?: CallOptions) =>
      request<Call>("POST", `${path}/calls`, { ...options, body: call }),
    settings: (options?: CallOptions) => request<PhoneSettings>("GET", `${path}/settings`, options),
    change: (settings: Partial<PhoneSettings>, options?: CallOptions) =>
      request<PhoneSettings>("PUT", `${path}/settings`, { ...options, body: settings }),
  };
}
