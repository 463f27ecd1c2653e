/** Chooses the instance for a message: by its number's own instance, its customer's routes, and which instances are up. */

import { CHANNELS, type Channel } from "../../../sdk/wire.ts";
import { isGroupId } from "../../core/chat.ts";
import type { InstanceId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import {
  attachmentsRuleOf,
  type CarriedFiles,
  droppedBy,
  type MessageFiles,
  NO_FILES,
} from "../../core/message-files.ts";
import { canFallBack } from "../../core/message-lifecycle.ts";
import { move, placeOf } from "../../core/message-routing.ts";
import { type CustomerNumber, channelsOf } from "../../core/number.ts";
import {
  type Candidate,
  type Chosen,
  candidatesOf,
  choose,
  type NameOf,
  type Origin,
  type Way,
  wayOf,
} from "../../core/routing.ts";
import { capabilitiesOf } from "../../providers/registry.ts";
import type { Deps } from "../deps.ts";
import type { EngineDeps, With } from "../engine-deps.ts";

/** The instances for one message, read once for one decision. */
export interface RoutePlan {
  /** The instances that can send it on a channel, in order: without files of it, unless it requires them. */
  on(channel: Channel): readonly Candidate[];
  /** Whether number and recipient have the channel, whatever the files of the message. */
  reaches(channel: Channel): boolean;
  /** The display name of an instance, whether or not it can send the message. */
  nameOf: NameOf;
}

/** The plan of a message from a number to an address. */
export async function planFrom(
  deps: With<"configCache" | "providers">,
  number: CustomerNumber,
  to: string,
  files: MessageFiles = NO_FILES,
): Promise<RoutePlan> {
  return (await plansFrom(deps, number, to))(files);
}

/** The plans of messages that differ in their files only. */
export type PlanFor = (files: MessageFiles) => RoutePlan;

async function plansFrom(
  deps: With<"configCache" | "providers">,
  number: CustomerNumber,
  to: string,
): Promise<PlanFor> {
  const { routes } = await deps.configCache.customer(number.customerId);
  const { address, instanceId } = number;
  const origin = { address, instanceId, channels: offered(deps, number), routes };
  return plansOver(origin, to, await instancesOf(deps));
}

/** The plans of messages to a group, which stay on the group's instance. */
export async function plansInGroup(deps: Pick<EngineDeps, "configCache">, instanceId: InstanceId): Promise<PlanFor> {
  const known = await instancesOf(deps);
  const only = [{ instanceId, name: known.nameOf(instanceId), because: "this group's instance" }];
  return plansAmong(() => only, known);
}

/** The plan of an accepted message. If its number no longer belongs to the customer, its present instance counts as the number's. */
export async function planOf(
  deps: With<"configCache" | "providers">,
  message: Addressed & MessageFiles,
): Promise<RoutePlan> {
  return (await plansOf(deps, message))(message);
}

type Addressed = Pick<Message, "customerId" | "from" | "to" | "instanceId">;

/** The plans of an accepted message whose content may change. */
export async function plansOf(
  deps: With<"configCache" | "providers">,
  { customerId, from, to, instanceId }: Addressed,
): Promise<PlanFor> {
  if (isGroupId(to)) return plansInGroup(deps, instanceId);
  const number = (await deps.configCache.numbers(customerId)).find(({ address }) => address === from);
  if (number !== undefined) return plansFrom(deps, number, to);
  const instance = await deps.configCache.instance(instanceId);
  const channels = instance === null ? [] : offered(deps, { instanceId, provider: instance.provider });
  const { routes } = await deps.configCache.customer(customerId);
  return plansOver({ address: from, instanceId, channels, routes }, to, await instancesOf(deps));
}

/** The names of the instances, and the files that they carry. */
interface KnownInstances {
  nameOf: NameOf;
  carries: (id: InstanceId, channel: Channel) => CarriedFiles;
}

/** Customers know instances by their names (`GET /v1/numbers`), and not by their ids. */
async function instancesOf({ configCache }: Pick<EngineDeps, "configCache">): Promise<KnownInstances> {
  const instances = await configCache.instances();
  const find = (id: InstanceId) => instances.find((instance) => instance.id === id);
  return {
    nameOf: (id) => find(id)?.name ?? "a deleted instance",
    carries(id, channel) {
      const provider = find(id)?.provider;
      return provider === undefined || channel === "imessage" ? "all" : capabilitiesOf(provider).smsFiles;
    },
  };
}

/** The candidates for a message with files. If the message requires them, only those that carry them all. */
function withFiles(
  candidates: readonly Candidate[],
  channel: Channel,
  files: MessageFiles,
  carries: KnownInstances["carries"],
): readonly Candidate[] {
  if (files.mediaUrls.length + files.attachments.length === 0) return candidates;
  const counted = candidates.map((candidate) => {
    const attachmentsDropped = droppedBy(carries(candidate.instanceId, channel), files);
    return attachmentsDropped === 0 ? candidate : { ...candidate, attachmentsDropped };
  });
  if (attachmentsRuleOf(files) === "drop") return counted;
  return counted.filter(({ attachmentsDropped }) => attachmentsDropped === undefined);
}

/** Channels of a number to any recipient: on its own instance, and by its customer's routes. */
export async function reachOf(deps: With<"configCache" | "providers">, number: CustomerNumber): Promise<Channel[]> {
  const own = offered(deps, number);
  const { routes } = await deps.configCache.customer(number.customerId);
  return channelsOf(
    number.address,
    CHANNELS.filter((channel) => own.includes(channel) || (channel === "sms" && routes.length > 0)),
  );
}

/** Channels of a number's own instance: those of the provider, limited to those the running instance reports. */
export function offered(
  { providers }: Pick<EngineDeps, "providers">,
  { instanceId, provider }: Pick<CustomerNumber, "instanceId" | "provider">,
): readonly Channel[] {
  const { channels } = capabilitiesOf(provider);
  const running = providers.get(instanceId);
  return running === undefined ? channels : channels.filter((one) => running.capabilities.channels.includes(one));
}

/** The dependencies of a choice: which instances are up, and the time. */
type InstanceStates = Pick<EngineDeps, "connections" | "clock">;

/** The chosen instance of `channel` among those not tried. Null if all were tried. */
export function chooseOn(
  deps: InstanceStates,
  plan: RoutePlan,
  channel: Channel,
  tried: readonly InstanceId[] = [],
): Chosen | null {
  return choose(plan.on(channel), tried, (id) => deps.connections.isUp(deps, id));
}

/**
 * The instance for a message that tried none yet or begins anew. Null if there is none, or if the message stays with the
 * instance that sent a part of it.
 */
export function wayNow(deps: InstanceStates, plan: RoutePlan, { channel, sentPart }: Message): Way | null {
  if (sentPart !== null) return null;
  const chosen = chooseOn(deps, plan, channel);
  return chosen === null ? null : wayOf(chosen);
}

/**
 * Moves a message whose instance is down to another one that admits it, at the same place in the queue. Null if its instance is
 * up or no other admits it.
 */
export function moveInstead(
  deps: InstanceStates & Pick<Deps, "settings">,
  plan: RoutePlan,
  message: Message,
): Message | null {
  const { connections, clock, settings } = deps;
  const { id, instanceId, channel, instancesTried } = message;
  if (message.sentPart !== null || connections.isUp(deps, instanceId)) return null;
  const admits = (other: InstanceId) => connections.admits(deps, other, id);
  const instead = choose(plan.on(channel), [...instancesTried, instanceId], admits);
  if (instead?.isUp !== true) return null;
  const now = clock.now();
  const dueAt = placeOf(message, settings.messageTtlMs, now);
  return move({ message, from: plan.nameOf(instanceId), to: wayOf(instead), dueAt }, now);
}

/** The next channel of a message and the instance chosen for it. */
export interface Hop {
  channel: Channel;
  chosen: Chosen;
}

/** The next channel with an instance. Null if no channel is left or fallback is off. */
export function nextChannel(deps: InstanceStates, plan: RoutePlan, message: Message): Hop | null {
  if (!canFallBack(message)) return null;
  for (const channel of message.channelsLeft) {
    const chosen = chooseOn(deps, plan, channel);
    if (chosen !== null) return { channel, chosen };
  }
  return null;
}

function plansOver(origin: Origin, to: string, known: KnownInstances): PlanFor {
  const read = new Map<Channel, readonly Candidate[]>();
  return plansAmong((channel) => {
    const candidates = read.get(channel) ?? candidatesOf(origin, to, channel, known.nameOf);
    read.set(channel, candidates);
    return candidates;
  }, known);
}

function plansAmong(all: (channel: Channel) => readonly Candidate[], { nameOf, carries }: KnownInstances): PlanFor {
  return (files) => ({
    on: (channel) => withFiles(all(channel), channel, files, carries),
    reaches: (channel) => all(channel).length > 0,
    nameOf,
  });
}
