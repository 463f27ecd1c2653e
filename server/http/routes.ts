/** All routes under `/v1`, in one list. */

import type { Context } from "../engine/context.ts";
import type { UsageCounters } from "../engine/usage.ts";
import { customerRoutes } from "./customers.ts";
import { deliveryRoutes } from "./deliveries.ts";
import { eventRoutes } from "./events.ts";
import { keyRoutes } from "./keys.ts";
import { messageRoutes } from "./messages.ts";
import { numberRoutes } from "./numbers.ts";
import type { Route } from "./route.ts";
import { type Inboxes, inboxRoutes } from "./sandbox.ts";
import { usageRoutes } from "./usage.ts";
import { webhookRoutes } from "./webhooks.ts";

/** The routes of the service. */
export function allRoutes(context: Context, usage: Pick<UsageCounters, "flush">, inboxes: Inboxes): Route[] {
  return [
    ...messageRoutes(context),
    ...eventRoutes(context),
    ...webhookRoutes(context),
    ...deliveryRoutes(context),
    ...numberRoutes(context),
    ...customerRoutes(context),
    ...keyRoutes(context),
    ...usageRoutes(context, usage),
    ...inboxRoutes(inboxes),
  ];
}
