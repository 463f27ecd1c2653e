/** Plans a message with the same decisions as sending it. Stores nothing and sends nothing. */

import type { Channel, DryRun, PlannedHop } from "../../../sdk/wire.ts";
import type { InstanceId } from "../../core/id.ts";
import { isoOrNull } from "../../core/instant.ts";
import type { Message } from "../../core/message.ts";
import type { NewMessage } from "../../core/new-message.ts";
import { type Candidate, CHANNEL_NAMES, type Chosen, SENT_CHANNELS, wayOf, withoutFiles } from "../../core/routing.ts";
import { segmentsOf, smsText } from "../../core/segment.ts";
import type { AvailabilityLookups } from "../contacts/availability.ts";
import type { With } from "../engine-deps.ts";
import { quietFor } from "../routing/quiet-hours.ts";
import { chooseOn } from "../routing/route.ts";
import { type AcceptDeps, type CheckedMessage, checkMessage } from "./accept.ts";

/**
 * Returns the plan of a message: its channel and instance with the reason, every other channel and instance that was
 * considered, its segments as an SMS, and what would delay it. Throws what sending it would throw. The provider's
 * answer about the recipient is only a hint: a channel may be given up although the dry run expects it to work.
 */
export async function dryRun(deps: AcceptDeps, lookups: AvailabilityLookups, wanted: NewMessage): Promise<DryRun> {
  const checked = await checkMessage(deps, wanted);
  const { message, recipient } = checked;
  const absent = await isKnownAbsent(lookups, checked);
  const planned = routeOf(message).flatMap((channel) => waysOn(deps, checked, channel, absent));
  const others = SENT_CHANNELS.filter((channel) => !routeOf(message).includes(channel));
  const hops = [...planned, ...others.map((channel) => leftOut(checked, wanted, channel))];
  const chosen = hops.find(({ usable }) => usable);
  const sms = hops.find(({ channel, usable }) => channel === "sms" && usable);
  return {
    dryRun: true,
    to: message.to,
    from: message.from,
    channel: chosen?.channel ?? null,
    instanceId: chosen?.instanceId ?? null,
    reason: [(chosen ?? hops[0])?.reason, recipient.sender, recipient.form]
      .filter((part) => part != null && part !== "")
      .join("; "),
    attachmentsDropped: chosen?.attachmentsDropped ?? 0,
    hops,
    ...measured(deps, message, sms),
    scheduledAt: isoOrNull(message.scheduledAt),
    quietUntil: isoOrNull(await quietFor(deps, message, message.scheduledAt ?? deps.clock.now())),
  };
}

/** Segments and encoding of the text on the first instance that would send it as an SMS; null if there is none. */
function measured(
  deps: AcceptDeps,
  message: Message,
  sms: PlannedHop | undefined,
): Pick<DryRun, "segments" | "encoding"> {
  const { smartEncoding } = deps.settings;
  const text = sms === undefined ? null : message.text;
  const provider = sms?.instanceId == null ? undefined : deps.providers.get(sms.instanceId as InstanceId);
  if (text === null || text === "" || provider?.measureSms === undefined)
    return segmentsOf({ channel: "sms", text }, smartEncoding);
  return provider.measureSms(smsText(text, smartEncoding));
}

/** The channels of the message in the order it tries them. */
function routeOf({ channel, channelsLeft }: Message): Channel[] {
  return [channel, ...channelsLeft];
}

/** Whether the provider knows that the recipient is not on iMessage: sending would then give the channel up. */
async function isKnownAbsent(lookups: AvailabilityLookups, { message, recipient }: CheckedMessage): Promise<boolean> {
  if (recipient.isGroup || !routeOf(message).includes("imessage")) return false;
  return (await lookups.imessage(recipient.number, message.to)) === false;
}

/** The instances of a channel that the message tries, or would try without the obstacles. */
function waysOn(deps: With<"connections">, checked: CheckedMessage, channel: Channel, absent: boolean): PlannedHop[] {
  const { message, recipient } = checked;
  const chosen = chooseOn(deps, recipient.plan, channel);
  if (chosen === null) return [];
  return recipient.plan.on(channel).map((candidate) => {
    const { instanceId, attachmentsDropped = 0 } = candidate;
    const hop = { channel, instanceId, attachmentsDropped };
    const isPassedOver = chosen.passedOver.some((one) => one.instanceId === instanceId);
    const against = obstacle(message, channel, absent) ?? (isPassedOver ? isDown(candidate) : null);
    if (against !== null) return { ...hop, usable: false, reason: against };
    if (instanceId === chosen.instanceId)
      return { ...hop, usable: true, reason: why(checked, channel, chosen, absent) };
    if (!deps.connections.isUp(deps, instanceId)) return { ...hop, usable: false, reason: isDown(candidate) };
    return { ...hop, usable: true, reason: next(candidate, chosen) };
  });
}

/** The obstacle to a channel as a whole; null if there is none. */
function obstacle(message: Message, channel: Channel, absent: boolean): string | null {
  if (channel !== message.channel && !message.fallback) {
    return `routing.fallback is false: no channel is tried after ${CHANNEL_NAMES[message.channel]}`;
  }
  if (channel !== "imessage" || !absent) return null;
  return `${message.to} is not on iMessage according to the provider: the channel would be given up`;
}

function isDown({ name }: Candidate): string {
  return `${name} is down`;
}

/** Why the message goes by this instance; for its first channel, in the words of the timeline. */
function why({ message, reason }: CheckedMessage, channel: Channel, chosen: Chosen, absent: boolean): string {
  if (channel === message.channel) return reason;
  const before = routeOf(message).slice(0, routeOf(message).indexOf(channel));
  const isFallback = absent && before.every((one) => one === "imessage");
  const names = before.map((one) => CHANNEL_NAMES[one]).join(" and ");
  const condition = isFallback ? "fallback" : `if ${names} ${before.length === 1 ? "is" : "are"} given up`;
  return `${CHANNEL_NAMES[channel]} ${condition}, via ${wayOf(chosen).way}`;
}

function next({ name, because, attachmentsDropped }: Candidate, chosen: Chosen): string {
  return `via ${name} (${because})${withoutFiles(attachmentsDropped)} if ${chosen.name} refuses it`;
}

/** A channel that the message does not try, and why. */
function leftOut({ message, recipient }: CheckedMessage, { routing }: NewMessage, channel: Channel): PlannedHop {
  const none = { channel, instanceId: null, usable: false, attachmentsDropped: 0 };
  if (routing?.preference?.includes(channel) === false)
    return { ...none, reason: "routing.preference does not name it" };
  if (recipient.isGroup) return { ...none, reason: `the group is on ${CHANNEL_NAMES[message.channel]}` };
  if (!recipient.usable.includes(channel)) {
    return { ...none, reason: `there is no ${CHANNEL_NAMES[channel]} from ${message.from} to ${message.to}` };
  }
  return { ...none, reason: `it has files, which ${CHANNEL_NAMES[channel]} does not carry here` };
}
