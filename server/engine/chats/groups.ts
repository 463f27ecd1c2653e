/** Applies providers' signals about groups: creates and updates their chats, and emits an event for each change. */

import { type Channel, GROUP_NAME_LENGTH_MAX } from "../../../sdk/wire.ts";
import { type Chat, groupKey, unnamedGroupKey } from "../../core/chat.ts";
import type { GroupSnapshot } from "../../core/group.ts";
import { type GroupChange, type GroupContext, type GroupPatch, groupEvent, patchGroup } from "../../core/group.ts";
import { type CustomerId, type InstanceId, newCorrelationId } from "../../core/id.ts";
import { parseAddress } from "../../core/phone.ts";
import { distinctPhones, isSamePhone, peopleKey, samePhoneIn, withoutPhones } from "../../core/phone-forms.ts";
import type { GroupSignal } from "../../providers/provider.ts";
import { findArrival } from "../../store/arrivals.ts";
import { findChatByKey, findUnnamedGroups } from "../../store/chats.ts";
import type { Operation } from "../../store/store.ts";
import { acknowledgementOf, acknowledgeOnly } from "../acknowledge.ts";
import { decide, difference } from "../commit.ts";
import type { Deps } from "../deps.ts";
import type { With } from "../engine-deps.ts";
import { duplicateThread, type PreparedChat, retryDuplicateThread, storedChat } from "./threads.ts";

/** A group of a customer's address, as its provider reports it. */
export interface ObservedGroup {
  customerId: CustomerId;
  /** The customer's own address. */
  from: string;
  channel: Channel;
  instanceId: InstanceId;
  snapshot: GroupSnapshot;
}

/**
 * The chat of a group, after `make` is committed: created if the group is new, and updated if its members or its name
 * changed, with the events. A snapshot without members or name leaves them unchanged. If the transaction is a duplicate
 * because the chat exists now, repeat it: see `retryDuplicateThread`.
 */
export async function prepareGroup(deps: Deps, observed: ObservedGroup): Promise<PreparedChat> {
  const found = await findGroup(deps, observed);
  return arrange(found, patchGroup(found.named, patchOf(observed), null, regroupContext(deps)));
}

/** Context of a change to a group. */
export function regroupContext(deps: Deps, correlationId = newCorrelationId(deps.random)): GroupContext {
  return { now: deps.clock.now(), eventId: () => deps.newId("evt"), correlationId };
}

/** Applies a group signal: commits the change and its `chat.*` event, unless it is a duplicate or changes nothing. */
export async function receiveGroup(
  deps: With<"configCache">,
  instanceId: InstanceId,
  signal: GroupSignal,
): Promise<void> {
  const number = await deps.configCache.numberAt(signal.to);
  if (number === null) {
    deps.observer.fault("groups", new Error("a group signal is for an address that is no number of this service"));
    return acknowledgeOnly(deps, acknowledgementOf(instanceId, signal));
  }
  const { channel, group: snapshot } = signal;
  const observed = { customerId: number.customerId, from: number.address, channel, instanceId, snapshot };
  await retryDuplicateThread(() => applyGroupSignal(deps, observed, signal));
}

async function applyGroupSignal(deps: Deps, observed: ObservedGroup, signal: GroupSignal): Promise<void> {
  const { instanceId } = observed;
  const forgets = acknowledgementOf(instanceId, signal);
  const reference = `group ${signal.reference}`;
  if ((await findArrival(deps.store.db, instanceId, reference)) !== null) return acknowledgeOnly(deps, forgets);
  const { taken } = await decide(deps, async () => {
    const known = await findGroup(deps, observed);
    const found = known.stored === null ? { ...known, named: before(known.named, signal) } : known;
    const { make } = arrange(found, afterSignal(found.named, observed, signal, regroupContext(deps)));
    const arrival = { instanceId, reference, createdAt: deps.clock.real() };
    return {
      transaction: [{ op: "insertUnique", table: "arrivals", record: arrival }, ...make, ...forgets],
      value: null,
    };
  });
  if (taken) throw duplicateThread();
}

/** A stored group (null: not stored yet), and the group with the provider's reference. */
interface FoundGroup {
  stored: Chat | null;
  named: Chat;
}

async function findGroup(deps: Deps, observed: ObservedGroup): Promise<FoundGroup> {
  const { customerId, from, snapshot } = observed;
  const { reference } = snapshot;
  const key = groupKey(customerId, from, reference);
  const stored = await findChatByKey(deps.store.db, key);
  if (stored !== null) return { stored, named: stored };
  // A group that was created here gets the provider's reference with its first message.
  const wanted = peopleKey(people(observed));
  const unnamed = await findUnnamedGroups(deps.store.db, customerId, from);
  const made = unnamed.find(({ participants }) => peopleKey(participants) === wanted);
  if (made !== undefined) return { stored: made, named: { ...made, key, reference } };
  return { stored: null, named: newGroup(deps, { ...observed, ...snapshot, participants: people(observed) }) };
}

/** A new group. `reference` null: the provider has not named the group yet. */
export function newGroup(
  deps: Deps,
  group: Omit<ObservedGroup, "snapshot"> & { reference: string | null; name: string | null; participants: string[] },
): Chat {
  const { customerId, from, reference } = group;
  const id = deps.newId("chat");
  const now = deps.clock.now();
  return {
    id,
    version: 1,
    customerId,
    key: reference === null ? unnamedGroupKey(customerId, from, id) : groupKey(customerId, from, reference),
    isGroup: true,
    from,
    contact: null,
    lastForm: null,
    instanceId: group.instanceId,
    reference,
    channel: group.channel,
    name: nameOf(group.name),
    participants: group.participants,
    leftAt: null,
    createdAt: now,
    updatedAt: now,
  };
}

/** The members of an observed group as stored addresses, without the customer's own. */
function people({ from, snapshot }: ObservedGroup): string[] {
  return withoutPhones(distinctPhones(snapshot.participants.map(addressOf)), [from]);
}

function addressOf(text: string): string {
  return parseAddress(text)?.address ?? text;
}

function nameOf(name: string | null): string | null {
  return name === null || name === "" ? null : name.slice(0, GROUP_NAME_LENGTH_MAX).toWellFormed();
}

/** The patch that a snapshot implies; a snapshot without participants or name leaves them. */
function patchOf(observed: ObservedGroup): GroupPatch {
  const participants = people(observed);
  const name = nameOf(observed.snapshot.name);
  return { ...(participants.length === 0 ? {} : { participants }), ...(name === null ? {} : { name }) };
}

/**
 * The group after a signal: first the signal's change by its actor, then the rest of its snapshot. The snapshot may
 * be older than the change, so it does not undo the change.
 */
function afterSignal(chat: Chat, observed: ObservedGroup, signal: GroupSignal, deps: GroupContext): GroupChange {
  const actor = signal.actor === null ? null : addressOf(signal.actor);
  const participant = participantOf(chat, signal);
  const first = reportedChange(chat, participant, actor, signal, deps);
  const { participants, name } = patchOf(observed);
  const also: GroupPatch = {};
  if (participants !== undefined) {
    const others = withoutPhones(participants, toList(participant));
    const staysIn = participant !== null && samePhoneIn(first.chat.participants, participant) !== undefined;
    also.participants = staysIn ? [...others, participant] : others;
  }
  if (name !== undefined && signal.change !== "titleChanged") also.name = name;
  const rest = patchGroup(first.chat, also, null, deps);
  return { chat: rest.chat, events: [...first.events, ...rest.events] };
}

/** A new group before the change that its first signal reports, so that the change emits its event. */
function before(chat: Chat, signal: GroupSignal): Chat {
  const who = participantOf(chat, signal);
  const others = withoutPhones(chat.participants, toList(who));
  switch (signal.change) {
    case "participantAdded":
      return who === chat.from ? { ...chat, leftAt: chat.createdAt } : { ...chat, participants: others };
    case "participantLeft":
      return who === null || who === chat.from ? chat : { ...chat, participants: [...others, who] };
    case "titleChanged":
      return { ...chat, name: null };
    case "photoChanged":
      return chat;
  }
}

/** The participant that a signal names, the customer's own address in the form of the chat. */
function participantOf({ from }: Chat, { participant }: GroupSignal): string | null {
  if (participant === null) return null;
  const address = addressOf(participant);
  return isSamePhone(address, from) ? from : address;
}

function toList(participant: string | null): string[] {
  return participant === null ? [] : [participant];
}

function reportedChange(
  chat: Chat,
  participant: string | null,
  actor: string | null,
  { change, title }: GroupSignal,
  deps: GroupContext,
): GroupChange {
  const { participants } = chat;
  switch (change) {
    case "participantAdded":
      if (participant === null) return { chat, events: [] };
      if (participant === chat.from) return patchGroup(chat, { left: false }, actor, deps);
      return patchGroup(chat, { participants: distinctPhones([...participants, participant]) }, actor, deps);
    case "participantLeft":
      if (participant === chat.from) return patchGroup(chat, { left: true }, actor, deps);
      return patchGroup(chat, { participants: withoutPhones(participants, toList(participant)) }, actor, deps);
    case "titleChanged":
      return patchGroup(chat, { name: nameOf(title) }, actor, deps);
    case "photoChanged":
      return { chat, events: [groupEvent(chat, "chat.photo.changed", { actor }, deps)] };
  }
}

/** The operations that store the changed group, and the changed group. */
function arrange({ stored }: FoundGroup, { chat, events }: GroupChange): PreparedChat {
  const emitted = events.map((event): Operation => ({ op: "event", event, callbackUrl: null }));
  if (stored === null) return { chat, make: [{ op: "insertUnique", table: "chats", record: chat }, ...emitted] };
  const { transaction, value } = changedChat(stored, chat);
  return {
    chat: value,
    make: transaction.length === 0 ? [...storedChat(value).make, ...emitted] : [...transaction, ...emitted],
  };
}

/** The update from the stored chat to the changed one, none if they are equal, and the chat after the update. */
export function changedChat(stored: Chat, chat: Chat): { transaction: Operation[]; value: Chat } {
  const set = difference(stored, chat);
  if (Object.keys(set).length === 0) return { transaction: [], value: stored };
  const update: Operation = { op: "update", table: "chats", id: stored.id, version: stored.version, set };
  return { transaction: [update], value: { ...chat, version: stored.version + 1 } };
}
