/** Opt-outs: contacts that do not want messages from a number. */

import type { Static } from "typebox";
import { at, CONTACT, OWN } from "./samples.ts";
import { choice, closed, list, optional, record, says, string, stringOrNull } from "./schema.ts";
import { Address, created, Pagination, page } from "./values.ts";

export const OPT_OUT_SOURCES = ["keyword", "api"] as const;
const Source = choice("OptOutSource", OPT_OUT_SOURCES, "How a contact opted out.");

export const OptOut = record("OptOut", "A contact that has opted out of messages from a number.", {
  number: string("The customer's number."),
  contact: string("Address of the contact."),
  source: says(Source, "`keyword`: the contact wrote it. `api`: it was added here."),
  keyword: stringOrNull("The word that the contact wrote; null if the opt-out was added here."),
  ...created,
});

export const OptOutList = record("OptOutList", "A page of opt-outs.", {
  optOuts: list(OptOut, "The opt-outs of this page."),
  pagination: says(Pagination, "Where the list continues."),
});

/** Query of `GET /v1/opt-outs`. */
export const OptOutsQuery = closed({ ...page, number: optional(says(Address, "Only opt-outs from this number.")) });

export const optOutExample: Static<typeof OptOut> = {
  number: OWN,
  contact: CONTACT,
  source: "keyword",
  keyword: "STOP",
  createdAt: at(90),
};
