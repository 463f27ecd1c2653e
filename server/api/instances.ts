/** Admin routes of provider instances. No response shows a secret. */

import { CreateInstance, providerConfigs, UpdateInstance } from "../../contract/instances.ts";
import { PageQuery } from "../../contract/values.ts";
import { type InstanceList, PROVIDERS, type ProviderName } from "../../sdk/wire.ts";
import { invalidFields } from "../core/error.ts";
import { type Instance, type InstanceHealth, instanceRecord } from "../core/instance.ts";
import type { With } from "../engine/engine-deps.ts";
import { openConfigOrNull } from "../engine/instances/connections.ts";
import { shownHookUrl } from "../engine/instances/hooks.ts";
import { createInstance, deleteInstance, requireInstance, updateInstance } from "../engine/instances/instances.ts";
import { listInstances } from "../store/instances.ts";
import { listReader } from "./list-reader.ts";
import { pageOfAll } from "./paging.ts";
import { compileCheck, type FieldCheck } from "./pipeline/validate.ts";
import { type Route, route } from "./route.ts";

export function instanceRoutes(
  deps: With<"configCache" | "connections" | "leaveSandbox" | "signedLinks" | "membership" | "publicUrl" | "sealer">,
): Route[] {
  const checks = new Map(PROVIDERS.map((name) => [name, compileCheck("body", providerConfigs[name])]));
  return [listRoute(deps), createRoute(deps, checks), ...oneInstanceRoutes(deps, checks)];
}

type Checks = ReadonlyMap<ProviderName, FieldCheck>;

function listRoute(deps: With<"configCache" | "connections" | "signedLinks" | "publicUrl" | "sealer">): Route {
  return route({
    method: "GET",
    path: "/v1/admin/instances",
    scope: "admin",
    query: PageQuery,
    async handle(request) {
      const db = listReader(deps, request);
      const read = (before: string | null, limit: number) => listInstances(db, before, limit);
      const { records, pagination } = await pageOfAll("inst_", request.query, read);
      const instances = await Promise.all(records.map((instance) => recordOf(deps, instance)));
      const data: InstanceList = { instances, pagination };
      return { data };
    },
  });
}

function createRoute(
  deps: With<"configCache" | "connections" | "leaveSandbox" | "signedLinks" | "membership" | "publicUrl" | "sealer">,
  checks: Checks,
): Route {
  return route({
    method: "POST",
    path: "/v1/admin/instances",
    scope: "admin",
    body: CreateInstance,
    async handle({ body: { idempotencyKey: _, ...body }, idempotencyKey }) {
      requireConfig(checks, body.provider, body.config);
      const { repeated, instance } = await createInstance(deps, { idempotencyKey, body });
      return { status: repeated ? 200 : 201, data: await recordOf(deps, instance) };
    },
  });
}

function oneInstanceRoutes(
  deps: With<"configCache" | "connections" | "signedLinks" | "membership" | "publicUrl" | "sealer">,
  checks: Checks,
): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/admin/instances/:id",
      scope: "admin",
      async handle({ params }) {
        return { data: await recordOf(deps, await requireInstance(deps, params.id)) };
      },
    }),
    route({
      method: "PATCH",
      path: "/v1/admin/instances/:id",
      scope: "admin",
      body: UpdateInstance,
      async handle({ params, body: { name = null, config } }) {
        const merge = (instance: Instance, before: Record<string, unknown>) => {
          const after = { ...before, ...config };
          requireConfig(checks, instance.provider, after);
          return after;
        };
        const update = { name, merge: config === undefined ? null : merge };
        return { data: await recordOf(deps, await updateInstance(deps, params.id, update)) };
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/admin/instances/:id",
      scope: "admin",
      async handle({ params }) {
        await deleteInstance(deps, params.id);
        return { data: { id: params.id, deleted: true } };
      },
    }),
  ];
}

/** Health of an instance whose stored settings cannot be opened. */
const UNOPENED: InstanceHealth = {
  status: "unhealthy",
  warnings: ["Its settings cannot be opened with the secret key: send all of them again with PATCH, or delete it."],
};

async function recordOf(
  deps: With<"configCache" | "connections" | "signedLinks" | "publicUrl" | "sealer">,
  instance: Instance,
) {
  const { connections } = deps;
  const config = openConfigOrNull(deps, instance);
  const health = config === null ? UNOPENED : await connections.health(deps, instance.id);
  const lastEventAt = await connections.lastEventAt(deps, instance.id);
  const shown = { health, lastEventAt, hookUrl: shownHookUrl(deps, instance) };
  return instanceRecord(instance, config ?? {}, shown);
}

/** Throws one 400 that names every setting that the provider cannot use. */
function requireConfig(checks: Checks, provider: ProviderName, config: Record<string, unknown>): void {
  const found = checks.get(provider)?.(config) ?? [];
  if (found.length === 0) return;
  throw invalidFields(found.map(({ path, message }) => ({ path: path === "" ? "config" : `config.${path}`, message })));
}
