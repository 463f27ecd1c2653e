/** Routes of sessions: a browser asks for its own and signs out, a key makes links, and operators list and end sessions. */

import { PageQuery } from "../../contract/values.ts";
import type { Deleted, SessionLink, SessionList } from "../../sdk/wire.ts";
import { ApiError } from "../core/error.ts";
import { iso } from "../core/instant.ts";
import type { RequestSession } from "../core/session.ts";
import { sessionRecord, sessionSummary } from "../core/session.ts";
import type { Deps } from "../engine/deps.ts";
import type { With } from "../engine/engine-deps.ts";
import { endSession } from "../engine/sessions/end-sessions.ts";
import { createLink } from "../engine/sessions/sign-in.ts";
import { listSessions } from "../store/sessions.ts";
import { listReader } from "./list-reader.ts";
import { pageOfAll } from "./paging.ts";
import { cookieName, setCookie } from "./pipeline/browser.ts";
import { type Caller, type Route, route } from "./route.ts";
import { type SessionOptions, signInRoute } from "./sign-in.ts";

/** Routes of the console and of those who open it. Programs use keys. */
export function browserRoutes(deps: With<"configCache" | "publicUrl">, options: SessionOptions): Route[] {
  return [
    signInRoute(deps, options),
    route({
      method: "GET",
      path: "/session",
      scope: "any",
      handle({ caller }) {
        const { session, token } = sessionOf(caller);
        return {
          data: sessionRecord(session, token, caller.key, options.state()),
          headers: { "Cache-Control": "no-store" },
        };
      },
    }),
    route({
      method: "DELETE",
      path: "/session",
      scope: "any",
      async handle({ caller, headers }) {
        const { id } = sessionOf(caller).session;
        await endSession(deps, id);
        const data: Deleted = { id, deleted: true };
        return { data, headers: { "Set-Cookie": setCookie(cookieName(headers, options.names()), null, 0) } };
      },
    }),
    route({
      method: "POST",
      path: "/session/links",
      scope: "any",
      async handle({ caller }) {
        if (caller.session !== null) throw new ApiError("FORBIDDEN", "A session cannot create links: use a key.");
        const { session, token } = await createLink(deps, caller.key);
        const data: SessionLink = { url: `${deps.publicUrl()}/#link=${token}`, expiresAt: iso(session.expiresAt) };
        return { status: 201, data, headers: { "Cache-Control": "no-store" } };
      },
    }),
  ];
}

/** Routes of operators. */
export function sessionRoutes(deps: Deps): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/admin/sessions",
      scope: "admin",
      query: PageQuery,
      async handle(request) {
        const db = listReader(deps, request);
        const now = deps.clock.real();
        const read = (before: string | null, limit: number) => listSessions(db, now, before, limit);
        const { records, pagination } = await pageOfAll("ses_", request.query, read);
        const data: SessionList = { sessions: records.map(sessionSummary), pagination };
        return { data };
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/admin/sessions/:id",
      scope: "admin",
      async handle({ params }) {
        await endSession(deps, params.id);
        const data: Deleted = { id: params.id, deleted: true };
        return { data };
      },
    }),
  ];
}

function sessionOf({ session }: Caller): RequestSession {
  if (session !== null) return session;
  throw new ApiError("UNAUTHORIZED", "This request has a key and no session. Sign in with POST /session.");
}
