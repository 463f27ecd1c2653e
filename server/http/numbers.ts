/** The numbers of a customer as it sees them itself. */

import type { HealthStatus, OwnNumber } from "../../sdk/wire.ts";
import type { InstanceId } from "../core/id.ts";
import { ownNumberRecord } from "../core/number.ts";
import type { Context } from "../engine/context.ts";
import { type Route, route } from "./route.ts";

/** How long a provider may take to say how it is; beyond it nobody knows. */
const HEALTH_WITHIN_MS = 2_000;

/** `GET /v1/numbers`: a plain list, the default number first (contract 1, 3). */
export function numberRoutes(context: Context): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/numbers",
      scope: "messages",
      async handle({ caller }) {
        const numbers = await context.known.numbers(caller.customerId);
        const instances = new Map((await context.known.instances()).map((instance) => [instance.id, instance]));
        const ids = [...new Set(numbers.map((number) => number.instanceId))];
        const health = new Map(await Promise.all(ids.map(async (id) => [id, await healthOf(context, id)] as const)));
        const data: OwnNumber[] = numbers.map((number) => {
          const { instanceId } = number;
          return ownNumberRecord(number, instances.get(instanceId)?.name ?? "", health.get(instanceId) ?? "unknown");
        });
        return { data };
      },
    }),
  ];
}

/** What the instance's provider says of itself; `unknown` when it is not running, fails, or takes too long. */
async function healthOf({ providers, clock }: Context, id: InstanceId): Promise<HealthStatus> {
  const provider = providers.get(id);
  if (provider === undefined) return "unknown";
  let stop = () => {};
  const late = new Promise<HealthStatus>((resolve) => {
    stop = clock.after(HEALTH_WITHIN_MS, () => resolve("unknown"));
  });
  try {
    return await Promise.race([provider.health().then((health) => health.status), late]);
  } catch {
    return "unknown";
  } finally {
    stop();
  }
}
