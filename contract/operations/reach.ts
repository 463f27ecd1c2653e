/** Operations on numbers, capabilities and opt-outs. */

import { Type } from "typebox";
import { PhoneCapabilities } from "../contacts.ts";
import { OwnNumber } from "../customers.ts";
import { operation, type Section } from "../operation.ts";
import {
  OptOut,
  OptOutList,
  OptOutRemovalQuery,
  OptOutSettings,
  OptOutsQuery,
  optOutExample,
  optOutSettingsExample,
  SetOptOutSettings,
} from "../opt-outs.ts";
import { at, CONTACT, LAST_PAGE, OWN } from "../samples.ts";
import { EITHER_FORM } from "../sentences.ts";
import { addressShown, Deleted } from "../values.ts";

export const reach: Section = {
  tag: "Reach",
  description: "The numbers you send from, the channels that reach a contact, and the contacts that opted out.",
  parameters: {
    phone: { description: `Phone number or iMessage e-mail. ${EITHER_FORM}`, example: CONTACT, ...addressShown },
    number: { description: "One of the customer's own numbers.", example: OWN, ...addressShown },
    contact: {
      description: `Phone number or e-mail address of the contact. ${EITHER_FORM}`,
      example: CONTACT,
      ...addressShown,
    },
  },
  operations: {
    "GET /v1/numbers": operation({
      id: "listNumbers",
      summary: "List your numbers",
      description: "Returns all numbers in one plain list, the default number first, with their health.",
      response: Type.Array(OwnNumber),
      example: [{ phoneNumber: OWN, email: null, instanceName: "Sandbox", isDefault: true, healthStatus: "healthy" }],
    }),
    "GET /v1/capabilities/:phone": operation({
      id: "getCapabilities",
      summary: "Show which channels reach an address",
      description:
        "Asks the provider, and caches its answer for a while: `cached` says so, and `lastChecked` when it was asked.",
      response: PhoneCapabilities,
      example: {
        phoneNumber: CONTACT,
        capabilities: { imessage: true, sms: true, facetime: true },
        iMessage: true,
        recommendedChannel: "imessage",
        lastChecked: at(0),
        cached: false,
        focused: false,
      },
      errors: ["INVALID_PHONE_NUMBER"],
    }),
    "GET /v1/opt-outs": operation({
      id: "listOptOuts",
      summary: "List opt-outs",
      description: "Lists contacts that replied STOP or were added here, newest first.",
      query: OptOutsQuery,
      response: OptOutList,
      example: { optOuts: [optOutExample], pagination: LAST_PAGE },
      errors: ["INVALID_PHONE_NUMBER"],
    }),
    "GET /v1/opt-outs/settings": operation({
      id: "getOptOutSettings",
      summary: "Get the settings of opt-outs",
      description: "The words that end and begin messages, what they hold for, and what the service answers.",
      response: OptOutSettings,
      example: optOutSettingsExample,
    }),
    "PUT /v1/opt-outs/settings": operation({
      id: "setOptOutSettings",
      summary: "Set the settings of opt-outs",
      description:
        "Changes the fields that are given. The fixed words cannot be removed; a word may not both end and begin messages. Providers that answer STOP themselves send `confirmation` and `help` in place of the service.",
      body: SetOptOutSettings,
      response: OptOutSettings,
      example: optOutSettingsExample,
      bodyExample: { keywords: ["BASTA"], confirmation: optOutSettingsExample.confirmation },
    }),
    "GET /v1/opt-outs/:number/:contact": operation({
      id: "getOptOut",
      summary: "Get an opt-out",
      description: "The status is 404 if the contact has not opted out.",
      response: OptOut,
      example: optOutExample,
      errors: ["INVALID_PHONE_NUMBER"],
    }),
    "PUT /v1/opt-outs/:number/:contact": operation({
      id: "addOptOut",
      summary: "Opt a contact out",
      description:
        "From now on, messages to the contact are refused with `RECIPIENT_OPTED_OUT`: from all numbers of the customer, or from this one, as the settings say.",
      response: OptOut,
      example: { ...optOutExample, source: "api", keyword: null },
      errors: ["INVALID_PHONE_NUMBER"],
      links: [
        { to: "getOptOut", parameters: { number: "number", contact: "contact" } },
        { to: "removeOptOut", parameters: { number: "number", contact: "contact" } },
      ],
    }),
    "DELETE /v1/opt-outs/:number/:contact": operation({
      id: "removeOptOut",
      summary: "Remove an opt-out",
      description:
        "Do so only if the contact has asked for it. An opt-out by the contact or the provider needs `reason`, which the event `contact.opted_in` shows.",
      query: OptOutRemovalQuery,
      response: Deleted,
      example: { id: CONTACT, deleted: true },
      errors: ["INVALID_PHONE_NUMBER"],
    }),
  },
};
