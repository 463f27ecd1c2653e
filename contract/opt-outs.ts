/** Opt-outs: contacts that do not want messages from a number or a customer, the words that make them, and the events of both changes. */

import type { Static } from "typebox";
import { event } from "./event-type.ts";
import { at, CONTACT, OWN } from "./samples.ts";
import { choice, closed, list, optional, orNull, record, request, says, string, stringOrNull, text } from "./schema.ts";
import { Address, Channel, created, Pagination, page } from "./values.ts";

export const OPT_OUT_SOURCES = ["keyword", "provider", "api"] as const;
const Source = choice("OptOutSource", OPT_OUT_SOURCES, "How a contact opted out, or in again.");
export const OPT_OUT_SCOPES = ["customer", "number"] as const;
const Scope = choice("OptOutScope", OPT_OUT_SCOPES, "The numbers that an opt-out holds for.");

const SOURCES = "`keyword`: the contact wrote it. `provider`: the provider reported it. `api`: a request.";
const SCOPES = "`customer`: all numbers of the customer, present and future. `number`: this number.";

export const OptOut = record("OptOut", "A contact that has opted out of messages, on every channel.", {
  number: string("The customer's number that the contact wrote to, or that the request named."),
  contact: string("Address of the contact."),
  scope: says(Scope, SCOPES),
  source: says(Source, SOURCES),
  keyword: stringOrNull("The word that the contact wrote; null if none is known."),
  ...created,
});

export const OptOutList = record("OptOutList", "A page of opt-outs.", {
  optOuts: list(OptOut, "The opt-outs of this page."),
  pagination: says(Pagination, "Where the list continues."),
});

/** Query of `GET /v1/opt-outs`. */
export const OptOutsQuery = closed({ ...page, number: optional(says(Address, "Only opt-outs from this number.")) });

/** Longest reason of a removal, in characters. */
const REASON_LENGTH_MAX = 255;

/** Query of `DELETE /v1/opt-outs/:number/:contact`. */
export const OptOutRemovalQuery = closed({
  reason: optional(
    text(1, REASON_LENGTH_MAX, "Why the contact may be written to again. Required unless `source` is `api`."),
  ),
});

/** Most words of a list, and the longest of them, in characters. */
const WORDS_MAX = 50;
const WORD_LENGTH_MAX = 32;
/** Longest text that the service sends by itself, in characters. */
const SERVICE_TEXT_LENGTH_MAX = 320;

const words = (description: string, minItems: number) =>
  list(text(1, WORD_LENGTH_MAX), description, { minItems, maxItems: WORDS_MAX });

const described = {
  scope: "Scope of new opt-outs. Those that exist keep theirs.",
  keywords: "Words that opt a contact out, beside the fixed ones.",
  resume: "All words that end an opt-out.",
  confirmation: "Text that confirms an opt-out by a word, once; null: none.",
  help: "Text that answers `HELP`, `INFO` and `AIDE`, at most once per contact and hour; null: none.",
};

export const OptOutSettings = record("OptOutSettings", "How a customer's contacts opt out and in again.", {
  scope: says(Scope, described.scope),
  keywords: list(string("A word."), described.keywords),
  resume: list(string("A word."), described.resume),
  confirmation: stringOrNull(described.confirmation),
  help: stringOrNull(described.help),
});

export const SetOptOutSettings = request(
  "SetOptOutSettings",
  "Body of `PUT /v1/opt-outs/settings`: an absent field stays as it is.",
  {
    scope: optional(says(Scope, described.scope)),
    keywords: optional(words(described.keywords, 0)),
    resume: optional(words(described.resume, 1)),
    confirmation: optional(orNull(text(1, SERVICE_TEXT_LENGTH_MAX), described.confirmation)),
    help: optional(orNull(text(1, SERVICE_TEXT_LENGTH_MAX), described.help)),
  },
);

export const OptOutEventData = record("OptOutEventData", "`data` of `contact.opted_out` and `contact.opted_in`.", {
  contact: string("Address of the contact."),
  number: string("The number of the opt-out."),
  scope: says(Scope, SCOPES),
  keyword: stringOrNull("The word that the contact wrote; null if none is known."),
  source: says(Source, SOURCES),
  reason: stringOrNull("The reason that the request gave; null if there is none."),
  channel: orNull(Channel, "Channel on which the contact wrote; null if the contact did not."),
});

export const optOutExample: Static<typeof OptOut> = {
  number: OWN,
  contact: CONTACT,
  scope: "customer",
  source: "keyword",
  keyword: "STOP",
  createdAt: at(90),
};

export const optOutSettingsExample: Static<typeof OptOutSettings> = {
  scope: "customer",
  keywords: ["BASTA"],
  resume: ["START", "UNSTOP"],
  confirmation: "Bistro Ada: you get no more messages. START begins them again.",
  help: null,
};

const change: Static<typeof OptOutEventData> = {
  contact: CONTACT,
  number: OWN,
  scope: "customer",
  keyword: "STOP",
  source: "keyword",
  reason: null,
  channel: "sms",
};

export const optOutEvents = [
  event("contact.opted_out", "A contact wants no more messages.", OptOutEventData, change),
  event("contact.opted_in", "A contact may be written to again.", OptOutEventData, { ...change, keyword: "START" }),
];
