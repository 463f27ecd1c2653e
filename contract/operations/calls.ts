/** Operations on FaceTime calls. */

import { Call, CallList, CallsQuery, callExample } from "../calls.ts";
import { linksToFirst, operation, type Section } from "../operation.ts";
import { IDS, LAST_PAGE } from "../samples.ts";

export const calls: Section = {
  tag: "FaceTime",
  description: "Calls that were detected on your numbers. The service reports calls; a person with the phone answers.",
  parameters: { id: { description: "Id of the call.", example: IDS.call } },
  operations: {
    "GET /v1/facetime/calls": operation({
      id: "listCalls",
      summary: "List calls",
      description: "Lists calls, newest first.",
      query: CallsQuery,
      response: CallList,
      example: { calls: [callExample], pagination: LAST_PAGE },
      queryExample: { status: "missed" },
      links: linksToFirst("calls", "getCall"),
    }),
    "GET /v1/facetime/calls/:id": operation({
      id: "getCall",
      summary: "Get a call",
      description: "Includes every status that the call has had, and when.",
      response: Call,
      example: callExample,
    }),
  },
};
