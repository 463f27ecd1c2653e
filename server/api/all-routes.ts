/** All routes under `/v1`, in one list. */

import type { ServiceDetails } from "../../sdk/wire.ts";
import { AvailabilityLookups } from "../engine/contacts/availability.ts";
import type { UsageCounters } from "../engine/customers/usage.ts";
import type { EngineDeps } from "../engine/engine-deps.ts";
import type { RequestLog } from "../engine/requests/request-log.ts";
import { attachmentRoutes } from "./attachments.ts";
import { callRoutes } from "./calls.ts";
import { capabilityRoutes } from "./capabilities.ts";
import { chatRoutes } from "./chats.ts";
import { clockRoutes } from "./clock.ts";
import { contactRoutes } from "./contacts.ts";
import { customerRouteRoutes } from "./customer-routes.ts";
import { customerRoutes } from "./customers.ts";
import { deliveryRoutes } from "./deliveries.ts";
import { eventRoutes } from "./events.ts";
import { heldRoutes } from "./held.ts";
import { type Inboxes, inboxRoutes } from "./inbox.ts";
import { instanceRoutes } from "./instances.ts";
import { keyRoutes } from "./keys.ts";
import { messageRoutes } from "./messages.ts";
import { numberRoutes } from "./numbers.ts";
import { OpenResponses } from "./open-responses.ts";
import { optOutRoutes } from "./opt-outs.ts";
import { paymentRoutes } from "./payments.ts";
import { phoneRoutes } from "./phones.ts";
import { quietHoursRoutes } from "./quiet-hours.ts";
import { requestRoutes } from "./requests.ts";
import { revisionRoutes } from "./revisions.ts";
import type { Route } from "./route.ts";
import { serviceRoutes } from "./service.ts";
import { sessionRoutes } from "./sessions.ts";
import { Streams } from "./stream.ts";
import { usageRoutes } from "./usage.ts";
import { waitRoutes } from "./wait.ts";
import { webhookRoutes } from "./webhooks.ts";
import { wireRoutes } from "./wire.ts";

/** The parts beside the engine that routes use. */
interface RouteParts {
  usage: Pick<UsageCounters, "flush">;
  requestLog: Pick<RequestLog, "flush">;
  inboxes: Inboxes;
  describeService(): Promise<ServiceDetails>;
}

/** The routes of the service. */
export function allRoutes(
  deps: EngineDeps,
  { usage, requestLog, inboxes, describeService }: RouteParts,
  openResponses: OpenResponses = new OpenResponses(),
): Route[] {
  const streams = new Streams(deps, openResponses);
  const inquiries = new AvailabilityLookups(deps);
  return [
    ...messageRoutes(deps, inquiries),
    ...chatRoutes(deps),
    ...revisionRoutes(deps),
    ...eventRoutes(deps, streams),
    ...wireRoutes(deps, streams),
    ...requestRoutes(deps, requestLog),
    ...attachmentRoutes(deps, openResponses),
    ...paymentRoutes(deps),
    ...callRoutes(deps),
    ...webhookRoutes(deps, openResponses),
    ...deliveryRoutes(deps),
    ...numberRoutes(deps),
    ...contactRoutes(deps),
    ...capabilityRoutes(deps, inquiries),
    ...optOutRoutes(deps),
    ...customerRoutes(deps),
    ...customerRouteRoutes(deps),
    ...quietHoursRoutes(deps),
    ...keyRoutes(deps),
    ...sessionRoutes(deps),
    ...instanceRoutes(deps),
    ...heldRoutes(deps),
    ...serviceRoutes(describeService),
    ...usageRoutes(deps, usage),
    ...inboxRoutes(inboxes),
    ...phoneRoutes(deps),
    ...clockRoutes(deps),
    ...waitRoutes(deps, openResponses),
  ];
}
