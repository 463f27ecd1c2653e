/** Admin routes of keys. */

import { CreateKey, RotateKey } from "../../contract/keys.ts";
import { PageQuery } from "../../contract/values.ts";
import type { KeyList } from "../../sdk/wire.ts";
import { keyRecord } from "../core/key.ts";
import { createKey, type IssuedKey, revokeKey, rotateKey } from "../engine/customers/keys.ts";
import type { With } from "../engine/engine-deps.ts";
import { listKeys } from "../store/keys.ts";
import { listReader } from "./list-reader.ts";
import { pageOfAll } from "./paging.ts";
import { type ApiResponse, type Route, route } from "./route.ts";

export function keyRoutes(deps: With<"configCache" | "keyChanged">): Route[] {
  return [
    route({
      method: "POST",
      path: "/v1/admin/keys",
      scope: "admin",
      body: CreateKey,
      async handle({ body, idempotencyKey }) {
        return issued(await createKey(deps, { idempotencyKey, body }));
      },
    }),
    route({
      method: "GET",
      path: "/v1/admin/keys",
      scope: "admin",
      query: PageQuery,
      async handle(request) {
        const db = listReader(deps, request);
        const read = (before: string | null, limit: number) => listKeys(db, before, limit);
        const { records, pagination } = await pageOfAll("key_", request.query, read);
        const data: KeyList = { keys: records.map((apiKey) => keyRecord(apiKey)), pagination };
        return { data };
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/admin/keys/:id",
      scope: "admin",
      async handle({ params }) {
        return { data: keyRecord(await revokeKey(deps, params.id)) };
      },
    }),
    route({
      method: "POST",
      path: "/v1/admin/keys/:id/rotate",
      scope: "admin",
      body: RotateKey,
      async handle({ params, body, idempotencyKey }) {
        return issued(await rotateKey(deps, params.id, { idempotencyKey, body }));
      },
    }),
  ];
}

/** The only response that shows the key. A repeat of the request gets the record alone. */
function issued({ repeated, apiKey, key }: IssuedKey): ApiResponse {
  return { status: repeated ? 200 : 201, data: keyRecord(apiKey, key) };
}
