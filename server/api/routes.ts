/** All routes under `/v1`, in one list. */

import { Inquiries } from "../engine/contacts/availability.ts";
import type { Context } from "../engine/context.ts";
import type { UsageCounters } from "../engine/customers/usage.ts";
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
import { instanceRoutes } from "./instances.ts";
import { keyRoutes } from "./keys.ts";
import { Lasting } from "./lasting.ts";
import { messageRoutes } from "./messages.ts";
import { numberRoutes } from "./numbers.ts";
import { optOutRoutes } from "./opt-outs.ts";
import { paymentRoutes } from "./payments.ts";
import { phoneRoutes } from "./phones.ts";
import { quietHoursRoutes } from "./quiet-hours.ts";
import { revisionRoutes } from "./revisions.ts";
import type { Route } from "./route.ts";
import { type Inboxes, inboxRoutes } from "./sandbox.ts";
import { usageRoutes } from "./usage.ts";
import { waitRoutes } from "./wait.ts";
import { webhookRoutes } from "./webhooks.ts";

/** The routes of the service. */
export function allRoutes(
  context: Context,
  usage: Pick<UsageCounters, "flush">,
  inboxes: Inboxes,
  lasting: Lasting = new Lasting(),
): Route[] {
  const inquiries = new Inquiries(context);
  return [
    ...messageRoutes(context, inquiries),
    ...chatRoutes(context),
    ...revisionRoutes(context),
    ...eventRoutes(context, lasting),
    ...attachmentRoutes(context, lasting),
    ...paymentRoutes(context),
    ...callRoutes(context),
    ...webhookRoutes(context, lasting),
    ...deliveryRoutes(context),
    ...numberRoutes(context),
    ...contactRoutes(context),
    ...capabilityRoutes(inquiries),
    ...optOutRoutes(context),
    ...customerRoutes(context),
    ...customerRouteRoutes(context),
    ...quietHoursRoutes(context),
    ...keyRoutes(context),
    ...instanceRoutes(context),
    ...usageRoutes(context, usage),
    ...inboxRoutes(inboxes),
    ...phoneRoutes(context),
    ...clockRoutes(context),
    ...waitRoutes(context, lasting),
  ];
}
