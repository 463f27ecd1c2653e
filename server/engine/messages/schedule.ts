/** Schedules messages: which times are accepted, and how a scheduled message is changed or cancelled. */

import type { UpdateMessage } from "../../../sdk/wire.ts";
import { ApiError, invalidField, invalidFields } from "../../core/error.ts";
import type { CustomerId } from "../../core/id.ts";
import { parseInstant } from "../../core/instant.ts";
import type { Message } from "../../core/message.ts";
import { cancel } from "../../core/message-lifecycle.ts";
import { changeScheduled, type ScheduledChange } from "../../core/message-revision.ts";
import { contentOf, mediaProblems } from "../../core/new-message.ts";
import { along, wayOf } from "../../core/routing.ts";
import type { Deps } from "../deps.ts";
import { changeContext, type With } from "../engine-deps.ts";
import { chooseOn, type PlanFor, plansOf } from "../routing/route.ts";
import { changeMessage } from "./change-message.ts";
import { requireMessage } from "./find.ts";
import { filesRefused } from "./recipient.ts";

/** A message can be scheduled at most this far ahead: 30 days. */
const SCHEDULE_AHEAD_MS_MAX = 30 * 86_400_000;

/**
 * The instant of a `scheduledAt`, null without one. `now` is the service's time. Throws `INVALID_SCHEDULED_AT`,
 * `SCHEDULED_IN_PAST` and `SCHEDULED_TOO_FAR`.
 */
export function scheduleOf(text: string | undefined, now: number): number | null {
  if (text === undefined) return null;
  const refuse = (code: "INVALID_SCHEDULED_AT" | "SCHEDULED_IN_PAST" | "SCHEDULED_TOO_FAR", message: string) =>
    new ApiError(code, `scheduledAt: ${JSON.stringify(text)} ${message}.`, {
      details: [{ path: "scheduledAt", message }],
    });
  const at = parseInstant(text);
  if (at === null)
    throw refuse(
      "INVALID_SCHEDULED_AT",
      "is not an ISO 8601 instant with an offset or Z, such as 2026-01-31T09:30:00Z",
    );
  if (at <= now) throw refuse("SCHEDULED_IN_PAST", `is not in the future; it is ${new Date(now).toISOString()} now`);
  if (at > now + SCHEDULE_AHEAD_MS_MAX) throw refuse("SCHEDULED_TOO_FAR", "is more than 30 days ahead");
  return at;
}

/**
 * Changes the content, time or metadata of a scheduled message and returns it. If the message became due first, the
 * change is refused with `INVALID_STATUS`. Throws what sending throws.
 */
export async function updateMessage(
  deps: With<"configCache" | "connections" | "link" | "messageCache" | "providers">,
  customerId: CustomerId,
  id: string,
  body: UpdateMessage,
): Promise<Message> {
  const given = changeOf(deps, body);
  const message = await requireMessage(deps, customerId, id);
  const planFor = await plansOf(deps, message);
  return changeMessage(deps, message, (fresh) => {
    if (fresh.status !== "scheduled") {
      throw new ApiError(
        "INVALID_STATUS",
        `${id} is ${fresh.status}; only a scheduled message can be changed before it is sent.`,
      );
    }
    const { text = fresh.text, mediaUrls = fresh.mediaUrls } = given;
    if (text === null && mediaUrls.length + fresh.attachments.length === 0) {
      throw invalidField("content.text", "must not be empty, unless media or attachments are left");
    }
    const way = wayOfContent(deps, planFor, fresh, { ...fresh, text, mediaUrls });
    return changeScheduled({ ...fresh, ...way }, given, changeContext(deps));
  });
}

/**
 * The channels and the instance of a message whose content changes: those of its channels that carry the files which it requires
 * now. Throws 400 `CHANNEL_NOT_SUPPORTED` if none does.
 */
function wayOfContent(
  deps: With<"connections">,
  planFor: PlanFor,
  before: Message,
  after: Message,
): Partial<Pick<Message, "channel" | "channelsLeft" | "instanceId" | "attachmentsDropped">> {
  const isSame = after.text === before.text && after.mediaUrls === before.mediaUrls;
  if (isSame || after.mediaUrls.length + after.attachments.length + before.attachmentsDropped === 0) return {};
  const channels = [before.channel, ...before.channelsLeft];
  const plan = planFor(after);
  const [channel, ...channelsLeft] = channels.filter((one) => plan.on(one).length > 0);
  if (channel === undefined) throw filesRefused(after, "content", channels);
  const chosen = chooseOn(deps, plan, channel);
  return chosen === null ? {} : { channel, channelsLeft, ...along(wayOf(chosen)) };
}

/** The requested change. Throws one 400 that names every invalid field. */
function changeOf(deps: Deps, { content, scheduledAt, metadata }: UpdateMessage): ScheduledChange {
  const { text, mediaUrls, fieldNames } = contentOf(content ?? {});
  const problems = mediaProblems(mediaUrls ?? [], fieldNames, deps.settings);
  if (problems.length > 0) throw invalidFields(problems);
  const at = scheduleOf(scheduledAt, deps.clock.now());
  return {
    ...(text === undefined ? {} : { text: text === "" ? null : text }),
    ...(mediaUrls === undefined ? {} : { mediaUrls }),
    ...(at === null ? {} : { scheduledAt: at }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}

/**
 * Cancels a scheduled message and returns it. Either the cancellation or the sending commits first; a message that is no longer
 * scheduled is refused with `NOT_SCHEDULED`.
 */
export async function cancelSchedule(
  deps: With<"link" | "messageCache">,
  customerId: CustomerId,
  id: string,
): Promise<Message> {
  const message = await requireMessage(deps, customerId, id);
  return changeMessage(deps, message, (fresh) => {
    const change = cancel(fresh, changeContext(deps));
    if (change !== null) return change;
    throw new ApiError(
      "NOT_SCHEDULED",
      `${id} is ${fresh.status}, not scheduled; only a scheduled message can be cancelled.`,
    );
  });
}
