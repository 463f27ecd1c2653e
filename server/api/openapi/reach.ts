/** Reference of who can be reached how: the customer's numbers, a phone's capabilities, and those who said STOP. */

import { Type } from "typebox";
import {
  CHANNELS,
  HEALTH_STATUSES,
  OPT_OUT_SOURCES,
  type OptOut as WireOptOut,
  type OptOutList as WireOptOutList,
  type OwnNumber as WireOwnNumber,
  type PhoneCapabilities as WirePhoneCapabilities,
} from "../../../sdk/wire.ts";
import { wire } from "../schemas/common.ts";
import { Deleted } from "./messages.ts";
import { At, component, operation, orNull, Pagination, type Section, TextOrNull } from "./operation.ts";
import { at, CONTACT, LAST_PAGE, OWN } from "./samples.ts";

const OwnNumber = wire<WireOwnNumber>()(
  component("OwnNumber", {
    phoneNumber: TextOrNull,
    email: TextOrNull,
    instanceName: Type.String(),
    isDefault: Type.Boolean(),
    healthStatus: Type.Enum(HEALTH_STATUSES),
  }),
);

const PhoneCapabilities = wire<WirePhoneCapabilities>()(
  component("PhoneCapabilities", {
    phoneNumber: Type.String(),
    capabilities: Type.Object({ imessage: Type.Boolean(), sms: Type.Boolean(), facetime: Type.Boolean() }),
    iMessage: Type.Boolean(),
    recommendedChannel: orNull(Type.Enum(CHANNELS)),
    lastChecked: At,
    cached: Type.Boolean(),
    focused: Type.Boolean(),
    focusMode: Type.Optional(Type.String()),
  }),
);

const OptOut = wire<WireOptOut>()(
  component("OptOut", {
    number: Type.String(),
    contact: Type.String(),
    source: Type.Enum(OPT_OUT_SOURCES),
    keyword: TextOrNull,
    createdAt: At,
  }),
);

const OptOutList = wire<WireOptOutList>()(
  component("OptOutList", { optOuts: Type.Array(OptOut), pagination: Pagination }),
);

const optOutExample: WireOptOut = {
  number: OWN,
  contact: CONTACT,
  source: "keyword",
  keyword: "STOP",
  createdAt: at(90),
};

export const reach: Section = {
  tag: "Reach",
  description:
    "The numbers you send from, what a phone can be reached by, and who does not want to hear from a number.",
  parameters: {
    phone: { description: "A phone number or iMessage e-mail.", example: CONTACT },
    number: { description: "One of the customer's own numbers.", example: OWN },
    contact: { description: "The phone number or e-mail of who does not want messages from it.", example: CONTACT },
  },
  operations: {
    "GET /v1/numbers": operation({
      id: "listNumbers",
      summary: "List your numbers",
      description: "All of them in one plain list, the default number first, with the health of what they are on.",
      answer: Type.Array(OwnNumber),
      example: [{ phoneNumber: OWN, email: null, instanceName: "Sandbox", isDefault: true, healthStatus: "healthy" }],
    }),
    "GET /v1/capabilities/:phone": operation({
      id: "getCapabilities",
      summary: "See what a phone can be reached by",
      description: "Asked of the provider; for a while from memory, and `cached` and `lastChecked` say so.",
      answer: PhoneCapabilities,
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
      summary: "List who opted out",
      description: "Contacts that answered STOP, or were put there, newest first.",
      answer: OptOutList,
      example: { optOuts: [optOutExample], pagination: LAST_PAGE },
      errors: ["INVALID_PHONE_NUMBER"],
    }),
    "GET /v1/opt-outs/:number/:contact": operation({
      id: "getOptOut",
      summary: "See whether a contact opted out",
      description: "404 when it did not.",
      answer: OptOut,
      example: optOutExample,
      errors: ["INVALID_PHONE_NUMBER"],
    }),
    "PUT /v1/opt-outs/:number/:contact": operation({
      id: "addOptOut",
      summary: "Put a contact on the list",
      description: "From now on, messages from this number to it are refused with `RECIPIENT_OPTED_OUT`.",
      answer: OptOut,
      example: { ...optOutExample, source: "api", keyword: null },
      errors: ["INVALID_PHONE_NUMBER"],
    }),
    "DELETE /v1/opt-outs/:number/:contact": operation({
      id: "removeOptOut",
      summary: "Take a contact off the list",
      description: "Do so only when the contact has asked for it.",
      answer: Deleted,
      example: { id: CONTACT, deleted: true },
      errors: ["INVALID_PHONE_NUMBER"],
    }),
  },
};
