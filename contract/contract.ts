/** The whole contract, noun by noun: what `sdk/wire.ts` is generated from. */

import * as attachments from "./attachments.ts";
import * as calls from "./calls.ts";
import * as chats from "./chats.ts";
import * as contacts from "./contacts.ts";
import * as customers from "./customers.ts";
import * as errors from "./errors.ts";
import * as eventTypes from "./event-type.ts";
import * as events from "./events.ts";
import * as held from "./held.ts";
import * as instances from "./instances.ts";
import * as keys from "./keys.ts";
import * as messageEvents from "./message-events.ts";
import * as messages from "./messages.ts";
import * as optOuts from "./opt-outs.ts";
import * as payments from "./payments.ts";
import * as requests from "./requests.ts";
import * as sandbox from "./sandbox.ts";
import * as sending from "./sending.ts";
import * as service from "./service.ts";
import * as sessions from "./sessions.ts";
import * as usage from "./usage.ts";
import * as values from "./values.ts";
import * as webhooks from "./webhooks.ts";
import * as wire from "./wire.ts";

/**
 * Exports of each file, by its name. By their names: `PascalCase` is a schema, `UPPER_CASE` a constant, and `camelCase` an
 * example or a list of events.
 */
export const NOUNS: readonly (readonly [file: string, exports: Readonly<Record<string, unknown>>])[] = [
  ["event-type", eventTypes],
  ["errors", errors],
  ["values", values],
  ["attachments", attachments],
  ["sending", sending],
  ["messages", messages],
  ["message-events", messageEvents],
  ["chats", chats],
  ["contacts", contacts],
  ["opt-outs", optOuts],
  ["payments", payments],
  ["calls", calls],
  ["webhooks", webhooks],
  ["customers", customers],
  ["keys", keys],
  ["sessions", sessions],
  ["instances", instances],
  ["held", held],
  ["usage", usage],
  ["sandbox", sandbox],
  ["service", service],
  ["events", events],
  ["requests", requests],
  ["wire", wire],
];
