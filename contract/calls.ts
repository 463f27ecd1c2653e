/** FaceTime calls: the record, and its events. */

import { type Static, Type } from "typebox";
import { event } from "./event-type.ts";
import { at, CONTACT, IDS, OWN } from "./samples.ts";
import { choice, closed, flag, id, at as instant, list, optional, record, says, string } from "./schema.ts";
import { changed, Pagination, page } from "./values.ts";

export const CALL_STATUSES = ["incoming", "answered", "disconnected", "missed", "rejected", "failed"] as const;
export const CallStatus = choice("CallStatus", CALL_STATUSES, "Status of a FaceTime call.");

const ends = {
  callUuid: string("The phone's own id of the call."),
  from: string("Address of the person who calls."),
  caller: string("Address of the other end."),
  address: string("Address of the other end."),
  to: string("Your number."),
  isAudio: flag("Whether the call is without video."),
  isVideo: flag("Whether the call is with video."),
  isOutgoing: flag("Whether you are calling."),
  status: says(CallStatus, "Status of the call."),
};

export const Call = record("Call", "A FaceTime call that was detected on one of your numbers.", {
  id: id("call"),
  ...ends,
  history: list(
    Type.Object({ status: says(CallStatus, "Status that the call reached."), at: instant("When it reached it.") }),
    "Every status that the call has had.",
  ),
  ...changed,
});

export const CallList = record("CallList", "A page of calls.", {
  calls: list(Call, "The calls of this page."),
  pagination: says(Pagination, "Where the list continues."),
});

export const CallEventData = record("CallEventData", "`data` of `facetime.*` events.", {
  callId: id("call", "The call."),
  ...ends,
});

/** Query of `GET /v1/facetime/calls`. */
export const CallsQuery = closed({
  ...page,
  status: optional(says(CallStatus, "Only calls with this status.")),
});

const example = {
  callUuid: "6f1d1c2e-4b7a-4c1b-9a55-1f0f6a0f2f11",
  from: CONTACT,
  caller: CONTACT,
  address: CONTACT,
  to: OWN,
  isAudio: false,
  isVideo: true,
  isOutgoing: false,
  status: "disconnected",
} as const;

/** A call that was answered and has ended. */
export const callExample: Static<typeof Call> = {
  id: IDS.call,
  ...example,
  history: [
    { status: "incoming", at: at(0) },
    { status: "answered", at: at(4) },
    { status: "disconnected", at: at(65) },
  ],
  createdAt: at(0),
  updatedAt: at(65),
};

export const callEvents = [
  event("facetime.incoming", "A FaceTime call is coming in.", CallEventData, {
    callId: IDS.call,
    ...example,
    status: "incoming",
  }),
  event("facetime.status_changed", "A FaceTime call was answered, ended, missed or rejected.", CallEventData, {
    callId: IDS.call,
    ...example,
  }),
];
