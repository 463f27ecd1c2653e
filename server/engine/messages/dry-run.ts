/** Tells what would become of a message, by the very decisions that sending it makes. Keeps nothing, and sends nothing. */

import { CHANNELS, type Channel, type DryRun, type PlannedHop } from "../../../sdk/wire.ts";
import { isoOrNull } from "../../core/instant.ts";
import type { Message } from "../../core/message.ts";
import type { Understood, Wanted } from "../../core/new-message.ts";
import { type Candidate, type Chosen, wayOf } from "../../core/routing.ts";
import { segmentsOf } from "../../core/segment.ts";
import type { AvailabilityLookups } from "../contacts/availability.ts";
import type { Deps } from "../deps.ts";
import { quietFor } from "../routing/quiet-hours.ts";
import { chooseOn } from "../routing/route.ts";
import { type Draft, draft, type Sending } from "./draft.ts";

/** On whose behalf. */
export type Owner = Pick<Sending, "customerId" | "keyId" | "correlationId">;

/**
 * What would become of a message: by which channel and instance it would go and why, every way considered, its segments
 * as an SMS, and what holds it back. Throws what sending it would throw. What a provider says of the recipient is a hint:
 * where there is none, or it is out of date, a channel may be given up all the same.
 */
export async function dryRun(
  deps: Deps,
  inquiries: AvailabilityLookups,
  owner: Owner,
  { wanted, spelling }: Understood,
): Promise<DryRun> {
  const drafted = await draft(deps, { ...owner, wanted, spelling });
  const { message, recipient } = drafted;
  const absent = await isKnownAbsent(inquiries, drafted);
  const planned = routeOf(message).flatMap((channel) => waysOn(deps, drafted, channel, absent));
  const others = CHANNELS.filter((channel) => !routeOf(message).includes(channel));
  const hops = [...planned, ...others.map((channel) => leftOut(drafted, wanted, channel))];
  const chosen = hops.find(({ usable }) => usable);
  const canBeSms = hops.some(({ channel, usable }) => channel === "sms" && usable);
  const text = canBeSms ? message.text : null;
  return {
    dryRun: true,
    to: message.to,
    from: message.from,
    channel: chosen?.channel ?? null,
    instanceId: chosen?.instanceId ?? null,
    reason: [(chosen ?? hops[0])?.reason, recipient.sender ?? ""].filter((part) => part !== "").join("; "),
    hops,
    ...segmentsOf({ channel: "sms", text }, deps.settings.smartEncoding),
    scheduledAt: isoOrNull(message.scheduledAt),
    quietUntil: isoOrNull(await quietFor(deps, message, message.scheduledAt ?? deps.clock.now())),
  };
}

/** Channels in the order in which the message tries them. */
function routeOf({ channel, channelsLeft }: Message): Channel[] {
  return [channel, ...channelsLeft];
}

/** Whether the recipient is not on iMessage as far as its provider knows: then that channel is given up at the hand-over. */
async function isKnownAbsent(inquiries: AvailabilityLookups, { message, recipient }: Draft): Promise<boolean> {
  if (recipient.isGroup || !routeOf(message).includes("imessage")) return false;
  return (await inquiries.imessage(recipient.number, message.to)) === false;
}

/** The instances of a channel that the message tries, or would if nothing stood against it. */
function waysOn(deps: Deps, drafted: Draft, channel: Channel, absent: boolean): PlannedHop[] {
  const { message, recipient } = drafted;
  const chosen = chooseOn(deps, recipient.plan, channel);
  if (chosen === null) return [];
  return recipient.plan.on(channel).map((candidate) => {
    const { instanceId } = candidate;
    const isPassedOver = chosen.passedOver.some((one) => one.instanceId === instanceId);
    const against = obstacle(message, channel, absent) ?? (isPassedOver ? isDown(candidate) : null);
    if (against !== null) return { channel, instanceId, usable: false, reason: against };
    if (instanceId === chosen.instanceId)
      return { channel, instanceId, usable: true, reason: why(drafted, channel, chosen, absent) };
    if (!deps.connections.isUp(deps, instanceId))
      return { channel, instanceId, usable: false, reason: isDown(candidate) };
    return { channel, instanceId, usable: true, reason: next(candidate, chosen) };
  });
}

/** What stands against a channel as a whole. */
function obstacle(message: Message, channel: Channel, absent: boolean): string | null {
  if (channel !== message.channel && !message.fallback) {
    return `routing.fallback is false: nothing is tried after ${message.channel}`;
  }
  if (channel !== "imessage" || !absent) return null;
  return `${message.to} is not on iMessage as far as its provider knows: the channel would be given up`;
}

function isDown({ name }: Candidate): string {
  return `${name} is down`;
}

/** Why by this instance: of the first channel in the words of the timeline. */
function why({ message, way }: Draft, channel: Channel, chosen: Chosen, absent: boolean): string {
  if (channel === message.channel) return way;
  const before = routeOf(message).slice(0, routeOf(message).indexOf(channel));
  const given = absent && before.every((one) => one === "imessage") ? "as imessage would be given up" : null;
  return `${channel} ${given ?? `should ${before.join(" and ")} be given up`}, by ${wayOf(chosen).way}`;
}

function next({ name, because }: Candidate, chosen: Chosen): string {
  return `should ${chosen.name} refuse it, by ${name}, ${because}`;
}

/** A channel that the message does not try. */
function leftOut({ message, recipient }: Draft, { routing }: Wanted, channel: Channel): PlannedHop {
  const none = { channel, instanceId: null, usable: false };
  if (routing?.preference?.includes(channel) === false)
    return { ...none, reason: "routing.preference does not name it" };
  if (recipient.isGroup) return { ...none, reason: `the group is on ${message.channel}` };
  if (!recipient.usable.includes(channel)) {
    return { ...none, reason: `from ${message.from} to ${message.to} there is no ${channel}` };
  }
  return { ...none, reason: "attachments go by iMessage only" };
}
