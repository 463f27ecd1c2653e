/** Detected FaceTime calls and their lifecycle, a table of allowed changes of status. Pure. */

import type { CallEventData, CallStatus, EventType, Call as WireCall } from "../../sdk/wire.ts";
import { type Event, makeEvent } from "./event.ts";
import type { CallId, CustomerId, EventId, InstanceId } from "./id.ts";
import { iso } from "./instant.ts";
import { withoutStepBack } from "./step-back.ts";

export interface Call {
  id: CallId;
  version: number;
  customerId: CustomerId;
  instanceId: InstanceId;
  /** The provider's reference of the call, unique on its instance. */
  callUuid: string;
  /** The caller: the contact, or the customer's address if `isOutgoing`. */
  from: string;
  /** The contact. */
  caller: string;
  /** The customer's address. */
  to: string;
  /** Without video. */
  isAudio: boolean;
  isVideo: boolean;
  isOutgoing: boolean;
  status: CallStatus;
  history: { status: CallStatus; at: number }[];
  createdAt: number;
  updatedAt: number;
}

/** Allowed next statuses. Any other change is ignored: repeats, late signals, signals after an end. */
const CALL_TRANSITIONS: Readonly<Record<CallStatus, readonly CallStatus[]>> = {
  incoming: ["answered", "disconnected", "missed", "rejected", "failed"],
  answered: ["disconnected", "failed"],
  disconnected: [],
  missed: [],
  rejected: [],
  failed: [],
};

/** A call and the events of one change to it, to be committed together. */
export interface CallChange {
  call: Call;
  events: Event[];
}

/** Parameters of a change: shifted time, ids for its events, and the correlation id. */
export interface CallContext {
  now: number;
  eventId: () => EventId;
  correlationId: string;
}

/** A call as the first signal of it shows it. */
export type CallSnapshot = Omit<Call, "version" | "from" | "isAudio" | "history" | "createdAt" | "updatedAt">;

/**
 * Creates a call from its first signal. An incoming call gets an `incoming` event first, whatever its status is, so that a
 * receiver always gets the beginning of a call before its end.
 */
export function beginCall(snapshot: CallSnapshot, context: CallContext): CallChange {
  const { now } = context;
  const { caller, to, isOutgoing, status } = snapshot;
  const call: Call = {
    ...snapshot,
    version: 1,
    from: isOutgoing ? to : caller,
    isAudio: !snapshot.isVideo,
    history: [],
    createdAt: now,
    updatedAt: now,
  };
  const begun: CallChange = isOutgoing ? { call, events: [] } : enter({ call, events: [] }, "incoming", context);
  return !isOutgoing && status === "incoming" ? begun : enter(begun, status, context);
}

/** Changes the status of a call. Null if the change is not allowed. */
export function changeCall(call: Call, status: CallStatus, context: CallContext): CallChange | null {
  return CALL_TRANSITIONS[call.status].includes(status) ? enter({ call, events: [] }, status, context) : null;
}

function enter(change: CallChange, status: CallStatus, context: CallContext): CallChange {
  const { eventId, correlationId } = context;
  const { history, updatedAt } = change.call;
  const now = withoutStepBack(updatedAt, context.now);
  const call: Call = { ...change.call, status, history: [...history, { status, at: now }], updatedAt: now };
  const { customerId } = call;
  const isNew = status === "incoming" && !call.isOutgoing;
  const type: EventType = isNew ? "facetime.incoming" : "facetime.status_changed";
  const event = makeEvent(
    { id: eventId(), customerId, type, messageId: null, sequence: 0, correlationId, createdAt: now },
    callEventData(call),
  );
  return { call, events: [...change.events, event] };
}

/** `data` of `facetime.*` events. */
function callEventData(call: Call): CallEventData {
  return {
    callId: call.id,
    callUuid: call.callUuid,
    from: call.from,
    caller: call.caller,
    address: call.caller,
    to: call.to,
    isAudio: !call.isVideo,
    isVideo: call.isVideo,
    isOutgoing: call.isOutgoing,
    status: call.status,
  };
}

/** The record of `GET /v1/facetime/calls`. */
export function callRecord(call: Call): WireCall {
  const { callId: id, ...data } = callEventData(call);
  return {
    id,
    ...data,
    history: call.history.map(({ status, at }) => ({ status, at: iso(at) })),
    createdAt: iso(call.createdAt),
    updatedAt: iso(call.updatedAt),
  };
}
