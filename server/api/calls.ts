/** Routes of FaceTime calls: list the detected calls, get one with its history. */

import { CallsQuery } from "../../contract/calls.ts";
import type { CallList } from "../../sdk/wire.ts";
import { callRecord } from "../core/call.ts";
import { ApiError } from "../core/error.ts";
import type { Deps } from "../engine/deps.ts";
import { findCallOf, listCalls } from "../store/calls.ts";
import { listReader } from "./list-reader.ts";
import { pageOf } from "./paging.ts";
import { type Route, route } from "./route.ts";

export function callRoutes({ store }: Pick<Deps, "store">): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/facetime/calls",
      scope: "messages",
      query: CallsQuery,
      async handle(call) {
        const { caller, query } = call;
        const db = listReader({ store }, call);
        const { records, pagination } = await pageOf("call_", query, (start, limit) =>
          listCalls(db, caller.customerId, query.status, start, limit),
        );
        const data: CallList = { calls: records.map(callRecord), pagination };
        return { data };
      },
    }),
    route({
      method: "GET",
      path: "/v1/facetime/calls/:id",
      scope: "messages",
      async handle({ caller, params }) {
        const call = await findCallOf(store.db, caller.customerId, params.id);
        if (call !== null) return { data: callRecord(call) };
        throw new ApiError("NOT_FOUND", `There is no call ${params.id.slice(0, 100)}.`);
      },
    }),
  ];
}
