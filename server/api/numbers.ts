/** The route that lists the customer's own numbers. */

import type { OwnNumber } from "../../sdk/wire.ts";
import { ownNumberRecord } from "../core/number.ts";
import type { With } from "../engine/engine-deps.ts";
import { type Route, route } from "./route.ts";

/** `GET /v1/numbers` returns a plain list, the default number first. */
export function numberRoutes(deps: With<"configCache" | "connections">): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/numbers",
      scope: "messages",
      async handle({ caller }) {
        const numbers = await deps.configCache.numbers(caller.customerId);
        const instances = new Map((await deps.configCache.instances()).map((instance) => [instance.id, instance]));
        const ids = [...new Set(numbers.map((number) => number.instanceId))];
        const health = new Map(
          await Promise.all(ids.map(async (id) => [id, await deps.connections.health(deps, id)] as const)),
        );
        const data: OwnNumber[] = numbers.map((number) => {
          const { instanceId } = number;
          return ownNumberRecord(
            number,
            instances.get(instanceId)?.name ?? "",
            health.get(instanceId)?.status ?? "unknown",
          );
        });
        return { data };
      },
    }),
  ];
}
