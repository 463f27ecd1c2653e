/** Admin routes of messages that a restore holds. */

import { DecideHeld } from "../../contract/held.ts";
import { PageQuery } from "../../contract/values.ts";
import type { HeldDecision, HeldMessageList } from "../../sdk/wire.ts";
import { invalidField } from "../core/error.ts";
import { heldRecord } from "../core/restored-message.ts";
import type { With } from "../engine/engine-deps.ts";
import { decideHeld, type HeldChoice, listHeld } from "../engine/messages/held.ts";
import { listReader } from "./list-reader.ts";
import { pageOfAll } from "./paging.ts";
import { type Route, route } from "./route.ts";

export function heldRoutes(deps: With<"link" | "messageCache">): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/admin/held",
      scope: "admin",
      query: PageQuery,
      async handle(request) {
        const db = listReader(deps, request);
        const read = (before: string | null, limit: number) => listHeld(db, before, limit);
        const { records, pagination } = await pageOfAll("msg_", request.query, read);
        const data: HeldMessageList = { messages: records.map(heldRecord), pagination };
        return { data };
      },
    }),
    decisionRoute(deps, "release"),
    decisionRoute(deps, "discard"),
  ];
}

/** A repeat of a decision finds nothing held any more, so it needs no idempotency key. */
function decisionRoute(deps: With<"link" | "messageCache">, choice: HeldChoice): Route {
  return route({
    method: "POST",
    path: `/v1/admin/held/${choice}`,
    scope: "admin",
    body: DecideHeld,
    async handle({ body: { ids, all }, gone }) {
      if ((ids === undefined) === (all === undefined)) throw invalidField("ids", "give either ids or all");
      const { decided, notHeld, hasMore } = await decideHeld(deps, choice, ids ?? null, gone());
      const data: HeldDecision = { count: decided.length, notHeld, hasMore };
      return { data };
    },
  });
}
