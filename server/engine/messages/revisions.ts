/** What contacts do to messages afterwards: edit and take back their own, keep an audio message of ours. */

import type { InstanceId } from "../../core/id.ts";
import { unsend } from "../../core/message-lifecycle.ts";
import { edit, keepAudio } from "../../core/message-revision.ts";
import type { AudioKeptSignal, RevisionSignal } from "../../providers/provider.ts";
import { findArrival } from "../../store/arrivals.ts";
import type { Operation } from "../../store/store.ts";
import { acknowledgementOf, acknowledgeOnly } from "../acknowledge.ts";
import { decide } from "../commit.ts";
import { changeContext, type Deps } from "../deps.ts";
import { changeMessage, transactionOf } from "./change-message.ts";
import { findByReference, referenceTurn } from "./references.ts";

/**
 * Applies that a contact edited or took back a message of its own; resolves when that is on disk. What is so already
 * changes nothing, nor does anything that is said of a message which is not known, was deleted or was taken back.
 */
export async function receiveRevision(deps: Deps, instanceId: InstanceId, signal: RevisionSignal): Promise<void> {
  const { reference } = signal;
  await deps.serial.run(referenceTurn(deps, instanceId, reference), () => revise(deps, instanceId, signal));
}

async function revise(deps: Deps, instanceId: InstanceId, signal: RevisionSignal): Promise<void> {
  const text = signal.text === "" ? null : signal.text;
  const forgets = acknowledgementOf(instanceId, signal);
  const message = await findByReference(deps, instanceId, signal.reference);
  // What became of our own messages is known from the commands that did it.
  if (message?.direction !== "inbound") {
    if (message === null) deps.observer.fault("revision", new Error("a revision names no message of this service"));
    return acknowledgeOnly(deps, forgets);
  }
  await changeMessage(deps, message, (fresh) => {
    const told = changeContext(deps);
    const isSo = fresh.deletedAt !== null || (signal.text !== null && fresh.text === text);
    const change = isSo ? null : signal.text === null ? unsend(fresh, told) : edit(fresh, text, told);
    if (forgets.length === 0) return change;
    return { ...(change ?? { message: fresh, events: [] }), also: forgets };
  });
}

/** Applies that a contact kept an audio message of ours, once for each message; resolves when that is on disk. */
export async function receiveAudioKept(deps: Deps, instanceId: InstanceId, signal: AudioKeptSignal): Promise<void> {
  await deps.serial.run(referenceTurn(deps, instanceId, signal.reference), () => keepOnce(deps, instanceId, signal));
}

async function keepOnce(deps: Deps, instanceId: InstanceId, signal: AudioKeptSignal): Promise<void> {
  const forgets = acknowledgementOf(instanceId, signal);
  const reference = `audioKept ${signal.reference}`;
  if (await findArrival(deps.store.db, instanceId, reference)) return acknowledgeOnly(deps, forgets);
  const decided = await decide(deps, async () => {
    const message = await findByReference(deps, instanceId, signal.reference);
    if (message === null) return { unit: forgets.length === 0 ? null : forgets, value: null };
    const record = { instanceId, reference, createdAt: deps.clock.real() };
    const arrival: Operation = { op: "insertUnique", table: "arrivals", record };
    const change = keepAudio(message, changeContext(deps));
    const kept = { ...change.message, version: message.version + 1 };
    return { unit: [arrival, ...transactionOf(message, change), ...forgets], value: kept };
  });
  if (decided.taken) return acknowledgeOnly(deps, forgets);
  if (decided.value === null) {
    deps.observer.fault("audio", new Error("an audio message was kept that is none of this service"));
  } else deps.messageCache.keep(decided.value);
}
