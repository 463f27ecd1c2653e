/** Operations on sessions of the console. */

import { linksToFirst, operation, type Section } from "../operation.ts";
import { IDS, LAST_PAGE } from "../samples.ts";
import {
  Session,
  SessionLink,
  SessionList,
  SignIn,
  sessionExample,
  sessionLinkExample,
  sessionSummaryExample,
} from "../sessions.ts";
import { Deleted, PageQuery } from "../values.ts";

export const sessions: Section = {
  tag: "Sessions",
  description:
    "Browsers that are signed in to the console with a key. A session may do what its key may do, and ends at once when the key is revoked. Takes an admin key.",
  parameters: { id: { description: "Id of the session.", example: IDS.session } },
  operations: {
    "GET /v1/admin/sessions": operation({
      id: "listSessions",
      summary: "List sessions",
      description: "Lists the sessions that have not ended, newest first.",
      query: PageQuery,
      response: SessionList,
      example: { sessions: [sessionSummaryExample], pagination: LAST_PAGE },
      links: linksToFirst("sessions", "endSession"),
    }),
    "DELETE /v1/admin/sessions/:id": operation({
      id: "endSession",
      summary: "End a session",
      description: "The browser is signed out with its next request, and its streams close.",
      response: Deleted,
      example: { id: IDS.session, deleted: true },
    }),
  },
};

export const signIn: Section = {
  tag: "Sign-in",
  description:
    "How a browser signs in to the console and out. `POST /session` sets a cookie: `__Host-tightbeam` with https, `tightbeam_<port>` with http. A request with the cookie and without a key is one of the session, on every route. It must come from a page of this service, and needs `X-CSRF-Token` if it changes something. Programs use keys.",
  operations: {
    "POST /session": operation({
      id: "signIn",
      summary: "Sign in to the console",
      description:
        "Takes an API key, or the token of a one-time link, and sets the cookie of a new session; the browser's former session ends. The header `Origin` must be the service's own. 20 failures a minute of one address are allowed, and 100 sign-ins a minute with one key.",
      status: 201,
      scope: "public",
      body: SignIn,
      response: Session,
      example: sessionExample,
      bodyExample: { key: "tb_0123456789abcdefghijklmnopqrstuvwxyz" },
      errors: ["UNAUTHORIZED", "FORBIDDEN", "RATE_LIMITED"],
    }),
    "GET /session": operation({
      id: "getSession",
      summary: "Get your session",
      description: "Includes the CSRF token, which no other page can read.",
      scope: "any",
      response: Session,
      example: sessionExample,
      session: true,
    }),
    "DELETE /session": operation({
      id: "signOut",
      summary: "Sign out of the console",
      description: "Ends the session, removes its cookie, and closes its streams.",
      scope: "any",
      response: Deleted,
      example: { id: IDS.session, deleted: true },
      session: true,
    }),
    "POST /session/links": operation({
      id: "createSessionLink",
      summary: "Create a one-time link to the console",
      description:
        "Whoever opens the link first, within five minutes, is signed in with this key. A session cannot create links.",
      status: 201,
      scope: "any",
      response: SessionLink,
      example: sessionLinkExample,
    }),
  },
};
