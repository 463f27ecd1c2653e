/** The sandbox: its inbox, its phones, its clock. */

import type { CallOptions } from "./paging.ts";
import { segment } from "./paging.ts";
import type { Request } from "./request.ts";
import type {
  Call,
  Event,
  EventType,
  Inbox,
  InboxBehaviour,
  Message,
  PhoneCall,
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
export interface WaitQuery {
  type?: EventType | undefined;
  messageId?: string | undefined;
  after?: string | undefined;
  /** 30 at the most. */
  timeoutSeconds?: number | undefined;
}

/** The routes under `/v1/sandbox`. */
export function sandboxRoutes(request: Request) {
  return {
    inbox: {
      get: () => request<Inbox>("GET", "/v1/sandbox/inbox"),
      clear: () => request<Inbox>("DELETE", "/v1/sandbox/inbox"),
      behave: (behaviour: Partial<InboxBehaviour>) =>
        request<Inbox>("PUT", "/v1/sandbox/inbox/behaviour", { body: behaviour }),
    },
    phone: (number: string) => phoneRoutes(request, number),
    clock: {
      get: () => request<SandboxClock>("GET", "/v1/sandbox/clock"),
      /** Moves it on by a duration such as `30s` or `2h`. */
      advance: (by: string) => request<SandboxClock>("POST", "/v1/sandbox/clock", { body: { advance: by } }),
      /** Back to the real time. */
      reset: () => request<SandboxClock>("POST", "/v1/sandbox/clock", { body: { reset: true } }),
    },
    /** The event, or null when none came in time. */
    wait: (query: WaitQuery = {}, options?: Pick<CallOptions, "signal">) =>
      request<Event | null>("GET", "/v1/sandbox/wait", { ...options, query }),
    /** Deletes what this customer wrote, heard and knows; keys, numbers and endpoints stay. */
    reset: () => request<SandboxReset>("POST", "/v1/sandbox/reset"),
  };
}

/** What a person does on the phone of a contact. */
function phoneRoutes(request: Request, number: string) {
  const path = `/v1/sandbox/phones/${segment(number)}`;
  return {
    /** Writes to one of the customer's numbers; answers the message as the customer sees it. */
    write: (message: PhoneMessage) => request<Message>("POST", `${path}/messages`, { body: message }),
    type: (typing: PhoneTyping) => request<Typing>("POST", `${path}/typing`, { body: typing }),
    react: (reaction: PhoneReaction) => request<Reacted>("POST", `${path}/reactions`, { body: reaction }),
    /** Pays; answers the message that carries the payment. */
    pay: (payment: PhonePayment) => request<Message>("POST", `${path}/payments`, { body: payment }),
    call: (call: PhoneCall) => request<Call>("POST", `${path}/calls`, { body: call }),
    settings: () => request<PhoneSettings>("GET", `${path}/settings`),
    change: (settings: Partial<PhoneSettings>) => request<PhoneSettings>("PUT", `${path}/settings`, { body: settings }),
  };
}
