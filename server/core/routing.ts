/** Routing: the instances that can send a message on a channel, in order, and the sentence that says why. Pure. */

import type { Channel, Route } from "../../sdk/wire.ts";
import type { InstanceId } from "./id.ts";
import type { Message } from "./message.ts";
import { countedFiles } from "./message-files.ts";
import { channelsOf } from "./number.ts";

/** The names of channels in sentences for customers. */
export const CHANNEL_NAMES = { imessage: "iMessage", sms: "SMS", rcs: "RCS" } as const satisfies Record<
  Channel,
  string
>;

/** The channels that providers send. */
export const SENT_CHANNELS = ["imessage", "sms"] as const satisfies Channel[];

/** The channel that answers one: a phone that writes by RCS has SMS too. */
export function answerTo(channel: Channel): (typeof SENT_CHANNELS)[number] {
  return channel === "imessage" ? "imessage" : "sms";
}

/** Whether the text is a prefix of phone numbers: a plus sign and up to 15 digits. */
export function isPrefix(text: string): boolean {
  return /^\+\d{0,15}$/.test(text);
}

/** The number that a message is sent from. */
export interface Origin {
  /** The customer's own address. */
  address: string;
  /** The instance of the number, and the channels that the number has there. */
  instanceId: InstanceId;
  channels: readonly Channel[];
  /** The customer's routes, in its order. */
  routes: readonly Route[];
}

/** The display name of an instance, for customers who do not see instance ids. */
export type NameOf = (id: InstanceId) => string;

/** An instance that can send a message; `because` follows its name in a sentence. */
export interface Candidate {
  instanceId: InstanceId;
  name: string;
  because: string;
  /** Files of the message that it does not carry; absent: none. */
  attachmentsDropped?: number;
}

/**
 * The instances that can send a message to `to` on `channel`, in the order to try them; none if the two addresses cannot use
 * the channel. iMessage stays with the number's own instance. SMS goes by the routes with the longest prefix of `to`, else by
 * the number's own instance.
 */
export function candidatesOf(origin: Origin, to: string, channel: Channel, nameOf: NameOf): Candidate[] {
  if (channelsOf(origin.address, channelsOf(to, [channel])).length === 0) return [];
  const routed = channel === "sms" ? routesTo(origin.routes, to) : [];
  if (routed.length > 0) return routed.map((one) => candidateOf(one, nameOf));
  if (!origin.channels.includes(channel)) return [];
  const { instanceId } = origin;
  return [{ instanceId, name: nameOf(instanceId), because: "this number's instance" }];
}

/** The routes of a recipient: of those that match, all with the longest prefix, in their order. */
export function routesTo(routes: readonly Route[], to: string): Route[] {
  const matching = routes.filter(({ prefix }) => to.startsWith(prefix));
  const longest = Math.max(...matching.map(({ prefix }) => prefix.length));
  return matching.filter(({ prefix }) => prefix.length === longest);
}

function candidateOf({ prefix, instanceId }: Route, nameOf: NameOf): Candidate {
  const id = instanceId as InstanceId;
  return { instanceId: id, name: nameOf(id), because: `route ${prefix}` };
}

/** The chosen candidate, whether it is up, and the candidates that were passed over because they are down. */
export interface Chosen extends Candidate {
  isUp: boolean;
  passedOver: Candidate[];
}

/**
 * The first candidate that is up; if none is, the first one, where the message then waits. Instances in `tried` do not
 * count. Null if no candidate is left.
 */
export function choose(
  candidates: readonly Candidate[],
  tried: readonly InstanceId[],
  isUp: (id: InstanceId) => boolean,
): Chosen | null {
  const left = candidates.filter(({ instanceId }) => !tried.includes(instanceId));
  const up = left.findIndex(({ instanceId }) => isUp(instanceId));
  const chosen = left[Math.max(up, 0)];
  if (chosen === undefined) return null;
  return { ...chosen, isUp: up >= 0, passedOver: left.slice(0, Math.max(up, 0)) };
}

/** The instance that a message goes to, and why: words that follow `via` in its timeline. */
export interface Way {
  instanceId: InstanceId;
  way: string;
  /** Files that are not sent this way; absent: none. */
  attachmentsDropped?: number;
}

/** The choice in words: `Mac 1 (this number's instance)`, or `Carrier B (route +44, as Carrier A is down)`. */
export function wayOf({ instanceId, name, because, isUp, passedOver, attachmentsDropped = 0 }: Chosen): Way {
  const names = passedOver.map((one) => one.name).join(" and ");
  const passed = passedOver.length === 0 ? "" : `, as ${names} ${are(passedOver)} down`;
  const waits = isUp ? "" : ", which is down: the message waits for it";
  return {
    instanceId,
    way: `${name} (${because}${passed})${withoutFiles(attachmentsDropped)}${waits}`,
    attachmentsDropped,
  };
}

/** The files that an instance does not carry, in words that follow its name; empty if there are none. */
export function withoutFiles(count = 0): string {
  return count === 0 ? "" : `, without ${countedFiles(count)}, which it does not carry`;
}

/** The instance and the dropped files of a message that goes a way from now on; nothing without one. */
export function along(way: Way | null): Partial<Pick<Message, "instanceId" | "attachmentsDropped">> {
  return way === null ? {} : { instanceId: way.instanceId, attachmentsDropped: way.attachmentsDropped ?? 0 };
}

function are(several: readonly unknown[]): string {
  return several.length === 1 ? "is" : "are";
}
