/** The sections of the reference, in the order in which a reader meets them. */

import type { Section } from "./operation.ts";
import { attachments } from "./operations/attachments.ts";
import { calls } from "./operations/calls.ts";
import { chats } from "./operations/chats.ts";
import { contacts } from "./operations/contacts.ts";
import { customers, usage } from "./operations/customers.ts";
import { events } from "./operations/events.ts";
import { held } from "./operations/held.ts";
import { instances } from "./operations/instances.ts";
import { keys } from "./operations/keys.ts";
import { messages } from "./operations/messages.ts";
import { payments } from "./operations/payments.ts";
import { reach } from "./operations/reach.ts";
import { requests } from "./operations/requests.ts";
import { sandbox } from "./operations/sandbox.ts";
import { service, settings } from "./operations/service.ts";
import { sessions, signIn } from "./operations/sessions.ts";
import { deliveries, webhooks } from "./operations/webhooks.ts";

export const SECTIONS: readonly Section[] = [
  messages,
  chats,
  contacts,
  reach,
  attachments,
  payments,
  calls,
  webhooks,
  deliveries,
  events,
  requests,
  sandbox,
  usage,
  customers,
  keys,
  sessions,
  instances,
  held,
  settings,
  signIn,
  service,
];
