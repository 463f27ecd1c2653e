/** Sessions of the console: how a browser signs in, and what operators see of it. */

import { type Static, Type } from "typebox";
import { IDS, at as time } from "./samples.ts";
import { at, exactlyOne, flag, id, list, optional, orNull, record, request, says, string, text } from "./schema.ts";
import { created, Pagination } from "./values.ts";

export const SignIn = request(
  "SignIn",
  "Body of `POST /session`: an API key, or the token of a one-time link.",
  {
    key: optional(text(1, 512, "An API key; or give `link`.")),
    link: optional(text(1, 512, "The token behind `#link=` of a one-time link.")),
  },
  { allOf: [exactlyOne("key", "link")] },
);

export const Session = record("Session", "A session, as the browser that has it sees it.", {
  id: id("ses"),
  keyId: id("key", "The key that signed in."),
  keyName: string("Display name of the key."),
  scope: Type.Enum(["customer", "admin"], { description: "Scope of the key: one customer's records, or all." }),
  customerId: orNull(id("cust"), "The customer; null for the session of an admin key."),
  csrfToken: string("Value of `X-CSRF-Token` of each request that changes something."),
  isSandbox: flag("Whether all numbers are on the sandbox."),
  isClockMoved: flag("Whether the sandbox's clock is ahead of the time."),
  isInboxOn: flag("Whether the sandbox has its inbox: `TB_SANDBOX_INBOX`."),
  expiresAt: at("When the session ends unless it is used."),
  version: string("Version of the service."),
});

export const SessionLink = record("SessionLink", "A link that opens the console, once.", {
  url: string("The address. Its token is behind the #, so that no server and no log sees it."),
  expiresAt: at("When the link can no longer be used: five minutes after its creation."),
});

export const SessionSummary = record("SessionSummary", "A session, as operators see it.", {
  id: id("ses"),
  keyId: id("key", "The key that signed in."),
  ...created,
  lastUsedAt: at("When the session was last used, to ten minutes."),
  expiresAt: at("When the session ends unless it is used."),
});

export const SessionList = record("SessionList", "A page of sessions.", {
  sessions: list(SessionSummary, "The sessions of this page."),
  pagination: says(Pagination, "Where the list continues."),
});

export const sessionExample: Static<typeof Session> = {
  id: IDS.session,
  keyId: IDS.key,
  keyName: "Bistro",
  scope: "customer",
  customerId: IDS.customer,
  csrfToken: "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY",
  isSandbox: true,
  isClockMoved: false,
  isInboxOn: true,
  expiresAt: time(86_400),
  version: "0.1.0",
};

export const sessionLinkExample: Static<typeof SessionLink> = {
  url: "http://127.0.0.1:8080/#link=tbl_0123456789abcdefghijklmnopqrstuvwxyz",
  expiresAt: time(300),
};

export const sessionSummaryExample: Static<typeof SessionSummary> = {
  id: IDS.session,
  keyId: IDS.key,
  createdAt: time(0),
  lastUsedAt: time(600),
  expiresAt: time(87_000),
};
