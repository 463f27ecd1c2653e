/** Chooses the instance that a message goes to: by the number's own, by its customer's routes, and by who is up. */

import { CHANNELS, type Channel } from "../../../sdk/wire.ts";
import { isGroupId } from "../../core/chat.ts";
import type { InstanceId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import { move, placeOf } from "../../core/message-routing.ts";
import { type CustomerNumber, channelsOf } from "../../core/number.ts";
import { type Candidate, type Chosen, candidatesOf, choose, type Origin, type Way, wayOf } from "../../core/routing.ts";
import { capabilitiesOf } from "../../providers/registry.ts";
import type { Context } from "../context.ts";

/** The instances that can take one message on a channel, in order: as read once, so that a decision can rest on it. */
export type Plan = (channel: Channel) => readonly Candidate[];

/** The plan of what goes from a number to an address. */
export async function planFrom(context: Context, number: CustomerNumber, to: string): Promise<Plan> {
  const { routes } = await context.known.customer(number.customerId);
  const { address, instanceId } = number;
  return planOver({ address, instanceId, channels: offered(context, number), routes }, to);
}

/** The plan of what is said in a group: it stays on the instance that has the group. */
export function planInGroup(instanceId: InstanceId): Plan {
  const only = [{ instanceId, because: "where the group is" }];
  return () => only;
}

/** The plan of a message that was accepted. Its number may be its customer's no more: then where it is counts as that. */
export async function planOf(
  context: Context,
  { customerId, from, to, instanceId }: Pick<Message, "customerId" | "from" | "to" | "instanceId">,
): Promise<Plan> {
  if (isGroupId(to)) return planInGroup(instanceId);
  const number = (await context.known.numbers(customerId)).find(({ address }) => address === from);
  if (number !== undefined) return planFrom(context, number, to);
  const instance = await context.known.instance(instanceId);
  const channels = instance === null ? [] : offered(context, { instanceId, provider: instance.provider });
  const { routes } = await context.known.customer(customerId);
  return planOver({ address: from, instanceId, channels, routes }, to);
}

/** Channels that a number has to anybody at all: on its own instance, and by its customer's routes. */
export async function reachOf(context: Context, number: CustomerNumber): Promise<Channel[]> {
  const own = offered(context, number);
  const { routes } = await context.known.customer(number.customerId);
  return channelsOf(
    number.address,
    CHANNELS.filter((channel) => own.includes(channel) || (channel === "sms" && routes.length > 0)),
  );
}

/** Channels that are to be had where a number lives: of what such a provider can do, what this one says while it runs. */
export function offered(
  { providers }: Pick<Context, "providers">,
  { instanceId, provider }: Pick<CustomerNumber, "instanceId" | "provider">,
): readonly Channel[] {
  const { channels } = capabilitiesOf(provider);
  const running = providers.get(instanceId);
  return running === undefined ? channels : channels.filter((one) => running.capabilities.channels.includes(one));
}

/** Who is up, and what time it is. */
type Standing = Pick<Context, "connections" | "clock">;

/** The instance of `channel` to go to, of those that were not tried. Null: there is none. */
export function chooseOn(
  context: Standing,
  plan: Plan,
  channel: Channel,
  tried: readonly InstanceId[] = [],
): Chosen | null {
  return choose(plan(channel), tried, (id) => context.connections.isUp(context, id));
}

/** The way that a message goes which has tried none yet, or begins anew. Null: there is none. */
export function wayNow(context: Standing, plan: Plan, { channel }: Message): Way | null {
  const chosen = chooseOn(context, plan, channel);
  return chosen === null ? null : wayOf(chosen);
}

/**
 * The message that waits for an instance which is down, on its way to one that is up, at the place it had. Null: its
 * instance is up, or there is no other, and it waits where it is.
 */
export function moveInstead(
  context: Standing & Pick<Context, "settings">,
  plan: Plan,
  message: Message,
): Message | null {
  if (context.connections.isUp(context, message.instanceId)) return null;
  const instead = chooseOn(context, plan, message.channel, [...message.instancesTried, message.instanceId]);
  if (instead?.isUp !== true) return null;
  const now = context.clock.now();
  return move(message, wayOf(instead), placeOf(message, context.settings.messageTtlMs, now), now);
}

/** A way that a message can go on by. */
export interface Hop {
  channel: Channel;
  chosen: Chosen;
}

/** The next channel that there is an instance for, where fallback is wanted and one is left. Null: there is none. */
export function nextChannel(context: Standing, plan: Plan, message: Message): Hop | null {
  if (!message.fallback) return null;
  for (const channel of message.channelsLeft) {
    const chosen = chooseOn(context, plan, channel);
    if (chosen !== null) return { channel, chosen };
  }
  return null;
}

function planOver(origin: Origin, to: string): Plan {
  const read = new Map<Channel, readonly Candidate[]>();
  return (channel) => {
    const candidates = read.get(channel) ?? candidatesOf(origin, to, channel);
    read.set(channel, candidates);
    return candidates;
  };
}
