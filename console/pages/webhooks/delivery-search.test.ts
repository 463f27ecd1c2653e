/** A search of deliveries means a query of the API. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSearch } from "../../parts/search-terms.ts";
import { DELIVERY_FIELDS, deliveryQueryOf } from "./delivery-search.ts";

const names = DELIVERY_FIELDS.map(({ name }) => name);

for (const [line, query] of [
  ["", {}],
  ["status:exhausted webhook:wh_1", { status: "exhausted", webhookId: "wh_1" }],
  ["status:lost", {}],
  ["event:evt_1 message:msg_1", { eventId: "evt_1", messageId: "msg_1" }],
  ["evt_019a-1", { eventId: "evt_019a-1" }],
  ["wh_2 status:pending", { status: "pending", webhookId: "wh_2" }],
] as const)
  test(`“${line}” asks for ${JSON.stringify(query)}`, () => {
    assert.deepEqual(deliveryQueryOf(parseSearch(line, names)), query);
  });
