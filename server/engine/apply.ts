/** Applies the signals that providers report: each kind has its handler. */

import type { InstanceId } from "../core/id.ts";
import { storable } from "../core/storable.ts";
import type { Applied, Signal } from "../providers/provider.ts";
import { boundedSignal } from "./bounded-signal.ts";
import { receiveCall } from "./chats/calls.ts";
import { receiveGroup } from "./chats/groups.ts";
import { receiveTyping } from "./chats/typing.ts";
import { receiveOptOut } from "./contacts/opt-outs.ts";
import type { EngineDeps } from "./engine-deps.ts";
import { receiveReceipt } from "./messages/receipts.ts";
import { receiveAudioKept, receiveMessage, receiveReaction, receiveRevision } from "./messages/receive.ts";
import { receiveWritten } from "./messages/receive-written.ts";

type SignalOf<Kind extends Signal["kind"]> = Extract<Signal, { kind: Kind }>;
type SignalHandler<Received extends Signal> = (
  deps: EngineDeps,
  instanceId: InstanceId,
  signal: Received,
) => Promise<unknown>;

const HANDLERS: { readonly [Kind in Signal["kind"]]: SignalHandler<SignalOf<Kind>> } = {
  receipt: receiveReceipt,
  inbound: receiveMessage,
  written: receiveWritten,
  reaction: receiveReaction,
  revision: receiveRevision,
  audioKept: receiveAudioKept,
  typing: receiveTyping,
  group: receiveGroup,
  call: receiveCall,
  optOut: receiveOptOut,
};

/**
 * Applies a signal of an instance; resolves when its effect is on disk. Cuts texts at 64 KiB and makes them storable first, so that no signal
 * is refused for its length or characters. If it throws, the signal must be reported again.
 */
export async function apply(deps: EngineDeps, instanceId: InstanceId, signal: Signal): Promise<Applied> {
  // The table has the handler of each kind.
  const handler = HANDLERS[signal.kind] as SignalHandler<Signal>;
  return (await handler(deps, instanceId, storable(boundedSignal(signal)))) === "unknown" ? "unknown" : "applied";
}
