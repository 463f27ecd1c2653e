/** Applies FaceTime calls that providers detect: each change is one transaction with its row and events. */

import { beginCall, type Call, type CallChange, type CallContext, changeCall } from "../../core/call.ts";
import { type InstanceId, newCorrelationId } from "../../core/id.ts";
import { parseAddress } from "../../core/phone.ts";
import type { CallSignal } from "../../providers/provider.ts";
import { findCallByUuid } from "../../store/calls.ts";
import type { Operation } from "../../store/store.ts";
import { acknowledgementOf } from "../acknowledge.ts";
import { decide, difference } from "../commit.ts";
import type { Deps } from "../deps.ts";
import type { With } from "../engine-deps.ts";

/**
 * Applies a call signal; resolves when its effect is on disk. A duplicate or late signal changes nothing. A call to or from
 * an address that no customer has on this instance is ignored.
 */
export async function receiveCall(
  deps: With<"configCache">,
  instanceId: InstanceId,
  signal: CallSignal,
): Promise<void> {
  const forgets = acknowledgementOf(instanceId, signal);
  const applyOnce = () =>
    decide(deps, async () => ({
      transaction: await transactionFor(deps, instanceId, signal, forgets),
      value: undefined,
    }));
  const { taken } = await applyOnce();
  // Another signal created the call at the same moment: apply this one to it.
  if (taken) await applyOnce();
}

async function transactionFor(
  deps: With<"configCache">,
  instanceId: InstanceId,
  signal: CallSignal,
  forgets: readonly Operation[],
): Promise<Operation[] | null> {
  const { callUuid, status } = signal;
  const call = await findCallByUuid(deps.store.db, instanceId, callUuid);
  const operations = call === null ? await begun(deps, instanceId, signal) : changed(deps, call, status);
  const transaction = [...operations, ...forgets];
  return transaction.length === 0 ? null : transaction;
}

async function begun(deps: With<"configCache">, instanceId: InstanceId, signal: CallSignal): Promise<Operation[]> {
  const { callUuid, isVideo, isOutgoing, status } = signal;
  const number = await deps.configCache.numberAt(addressOf(signal.to));
  if (number === null || number.instanceId !== instanceId) {
    deps.observer.fault("calls", new Error("a call is to or from no number of this instance"));
    return [];
  }
  const { customerId, address: to } = number;
  const id = deps.newId("call");
  const caller = addressOf(signal.caller);
  const seen = { id, customerId, instanceId, callUuid, caller, to, isVideo, isOutgoing, status };
  const change = beginCall(seen, callContext(deps));
  return [{ op: "insertUnique", table: "calls", record: change.call }, ...tellings(change)];
}

function changed(deps: Deps, before: Call, status: CallSignal["status"]): Operation[] {
  const change = changeCall(before, status, callContext(deps));
  if (change === null) return [];
  const set = difference(before, change.call);
  return [{ op: "update", table: "calls", id: before.id, version: before.version, set }, ...tellings(change)];
}

function tellings({ events }: CallChange): Operation[] {
  return events.map((event) => ({ op: "event", event, callbackUrl: null }));
}

/** The stored form of an address; a text that is not an address is unchanged. */
function addressOf(text: string): string {
  return parseAddress(text)?.address ?? text;
}

function callContext({ clock, newId, random }: Deps): CallContext {
  return { now: clock.now(), eventId: () => newId("evt"), correlationId: newCorrelationId(random) };
}
