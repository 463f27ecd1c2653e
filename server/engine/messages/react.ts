/** Reactions of contacts: each becomes one event, of the message that it is about where that is known here. */

import { makeEvent } from "../../core/event.ts";
import type { EventId, InstanceId } from "../../core/id.ts";
import { newCorrelationId } from "../../core/id.ts";
import { type Reacting, reactionEventData, takeReaction } from "../../core/message-revision.ts";
import type { CustomerNumber } from "../../core/number.ts";
import { parseAddress } from "../../core/phone.ts";
import type { ReactionSignal } from "../../providers/provider.ts";
import { findArrival } from "../../store/arrivals.ts";
import type { Operation } from "../../store/store.ts";
import { acknowledgementOf, acknowledgeOnly } from "../acknowledge.ts";
import { decide } from "../commit.ts";
import { changeContext, type Deps } from "../deps.ts";
import { transactionOf } from "./change-message.ts";
import { findByReference, referenceTurn } from "./references.ts";

/**
 * Applies a reaction of a contact; resolves when its event is on disk. Told again, by the provider's name of the
 * reaction, it changes nothing, and so does one that came to an address that nobody has.
 */
export async function receiveReaction(deps: Deps, instanceId: InstanceId, signal: ReactionSignal): Promise<void> {
  await deps.serial.run(referenceTurn(deps, instanceId, signal.target), async () => {
    const number = await deps.configCache.numberAt(signal.to);
    if (number !== null) return take(deps, number, instanceId, signal);
    deps.observer.fault("reaction", new Error("a reaction came to an address that is no number of this service"));
    return acknowledgeOnly(deps, acknowledgementOf(instanceId, signal));
  });
}

async function take(deps: Deps, number: CustomerNumber, instanceId: InstanceId, signal: ReactionSignal): Promise<void> {
  const forgets = acknowledgementOf(instanceId, signal);
  const reference = `reaction ${signal.reference}`;
  if (await findArrival(deps.store.db, instanceId, reference)) return acknowledgeOnly(deps, forgets);
  const decided = await decide(deps, async () => {
    const arrival: Operation = {
      op: "insertUnique",
      table: "arrivals",
      record: { instanceId, reference, createdAt: deps.clock.real() },
    };
    const { message, operations } = await reaction(deps, number, instanceId, signal);
    return { unit: [arrival, ...operations, ...forgets], value: message };
  });
  // Told twice at once: the other one has it.
  if (decided.taken) return acknowledgeOnly(deps, forgets);
  if (decided.value !== null) deps.messageCache.keep(decided.value);
}

/** What a reaction changes, and the message that it is about as it then is; null where that is not known here. */
async function reaction(
  deps: Deps,
  { customerId, address }: CustomerNumber,
  instanceId: InstanceId,
  signal: ReactionSignal,
) {
  const { type, emoji = null, content, channel } = signal;
  const from = parseAddress(signal.from)?.address ?? signal.from;
  const reacting: Reacting = { type, emoji, content, from, to: address, channel };
  const told = changeContext(deps);
  const found = await findByReference(deps, instanceId, signal.target);
  if (found?.customerId === customerId) {
    const change = takeReaction(found, reacting, told);
    return { message: { ...change.message, version: found.version + 1 }, operations: transactionOf(found, change) };
  }
  const id: EventId = told.eventId();
  const correlationId = newCorrelationId(deps.random);
  const event = makeEvent(
    { id, customerId, type: "message.reaction", messageId: null, sequence: 0, correlationId, createdAt: told.now },
    reactionEventData(null, reacting, { sequence: 1, correlationId }),
  );
  const operation: Operation = { op: "event", event, callbackUrl: null };
  return { message: null, operations: [operation] };
}
