/** Reference of FaceTime calls. */

import { Type } from "typebox";
import {
  CALL_STATUSES,
  type Call as WireCall,
  type CallEventData as WireCallEventData,
  type CallList as WireCallList,
} from "../../../sdk/wire.ts";
import { wire } from "../schemas/common.ts";
import { At, component, happening, id, operation, Pagination, type Section } from "./operation.ts";
import { at, CONTACT, IDS, LAST_PAGE, OWN } from "./samples.ts";

const ends = {
  callUuid: Type.String(),
  from: Type.String(),
  caller: Type.String(),
  address: Type.String(),
  to: Type.String(),
  isAudio: Type.Boolean(),
  isVideo: Type.Boolean(),
  isOutgoing: Type.Boolean(),
  status: Type.Enum(CALL_STATUSES),
};

/** A detected call. */
export const Call = wire<WireCall>()(
  component("Call", {
    id: id("call"),
    ...ends,
    history: Type.Array(Type.Object({ status: Type.Enum(CALL_STATUSES), at: At })),
    createdAt: At,
    updatedAt: At,
  }),
);

const CallList = wire<WireCallList>()(component("CallList", { calls: Type.Array(Call), pagination: Pagination }));

const CallEventData = wire<WireCallEventData>()(component("CallEventData", { callId: id("call"), ...ends }));

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
export const callExample: WireCall = {
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

export const calls: Section = {
  tag: "FaceTime",
  description:
    "Calls that were detected on your numbers. They are seen, not answered: that is for a person with the phone.",
  parameters: { id: { description: "The call.", example: IDS.call } },
  operations: {
    "GET /v1/facetime/calls": operation({
      id: "listCalls",
      summary: "List calls",
      description: "Newest first.",
      answer: CallList,
      example: { calls: [callExample], pagination: LAST_PAGE },
      query: { status: "missed" },
    }),
    "GET /v1/facetime/calls/:id": operation({
      id: "getCall",
      summary: "Get a call",
      description: "With every status it has had, and when.",
      answer: Call,
      example: callExample,
    }),
  },
  events: [
    happening("facetime.incoming", "A FaceTime call is coming in.", CallEventData, {
      callId: IDS.call,
      ...example,
      status: "incoming",
    }),
    happening("facetime.status_changed", "A FaceTime call was answered, ended, missed or rejected.", CallEventData, {
      callId: IDS.call,
      ...example,
    }),
  ],
};
