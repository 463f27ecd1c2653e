/** What contacts do to messages afterwards: edit and take back their own, keep an audio message of ours. */

import type { InstanceId } from "../../core/id.ts";
import { unsend } from "../../core/message-lifecycle.ts";
import { edit, keepAudio } from "../../core/message-revision.ts";
import type { AudioKeptSignal, RevisionSignal } from "../../providers/provider.ts";
import { findArrival } from "../../store/arrivals.ts";
import type { Operation } from "../../store/store.ts";
import { decide } from "../commit.ts";
import { type Context, changeContext } from "../context.ts";
import { forgetOnly, forgetting } from "../forget.ts";
import { changeMessage, unitOf } from "./change-message.ts";
import { findByReference, referenceTurn } from "./references.ts";

/**
 * Applies that a contact edited or took back a message of its own; resolves when that is on disk. What is so already
 * changes nothing, nor does anything that is said of a message which is not known, was deleted or was taken back.
 */
export async function hearRevision(context: Context, instanceId: InstanceId, signal: RevisionSignal): Promise<void> {
  const { reference } = signal;
  await context.turns.take(referenceTurn(context, instanceId, reference), () => revise(context, instanceId, signal));
}

async function revise(context: Context, instanceId: InstanceId, signal: RevisionSignal): Promise<void> {
  const text = signal.text === "" ? null : signal.text;
  const forgets = forgetting(instanceId, signal);
  const message = await findByReference(context, instanceId, signal.reference);
  // What became of our own messages is known from the commands that did it.
  if (message?.direction !== "inbound") {
    if (message === null) context.observer.fault("revision", new Error("a revision names no message of this service"));
    return forgetOnly(context, forgets);
  }
  await changeMessage(context, message, (fresh) => {
    const told = changeContext(context);
    const isSo = fresh.deletedAt !== null || (signal.text !== null && fresh.text === text);
    const change = isSo ? null : signal.text === null ? unsend(fresh, told) : edit(fresh, text, told);
    if (forgets.length === 0) return change;
    return { ...(change ?? { message: fresh, events: [] }), also: forgets };
  });
}

/** Applies that a contact kept an audio message of ours, once for each message; resolves when that is on disk. */
export async function hearAudioKept(context: Context, instanceId: InstanceId, signal: AudioKeptSignal): Promise<void> {
  await context.turns.take(referenceTurn(context, instanceId, signal.reference), () =>
    keepOnce(context, instanceId, signal),
  );
}

async function keepOnce(context: Context, instanceId: InstanceId, signal: AudioKeptSignal): Promise<void> {
  const forgets = forgetting(instanceId, signal);
  const reference = `audioKept ${signal.reference}`;
  if (await findArrival(context.store.db, instanceId, reference)) return forgetOnly(context, forgets);
  const decided = await decide(context, async () => {
    const message = await findByReference(context, instanceId, signal.reference);
    if (message === null) return { unit: forgets.length === 0 ? null : forgets, value: null };
    const record = { instanceId, reference, createdAt: context.clock.real() };
    const arrival: Operation = { op: "once", table: "arrivals", record };
    const change = keepAudio(message, changeContext(context));
    const kept = { ...change.message, version: message.version + 1 };
    return { unit: [arrival, ...unitOf(message, change), ...forgets], value: kept };
  });
  if (decided.taken) return forgetOnly(context, forgets);
  if (decided.value === null) {
    context.observer.fault("audio", new Error("an audio message was kept that is none of this service"));
  } else context.recent.keep(decided.value);
}
