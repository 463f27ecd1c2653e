import assert from "node:assert/strict";
import { test } from "node:test";
import { testContext } from "../../../test/support/context.ts";
import type { LoggedRequest } from "../../core/logged-request.ts";
import { findErasure } from "../../store/erasures.ts";
import { findRequest } from "../../store/requests.ts";
import { createContact } from "./contacts.ts";
import { eraseContact, eraseContacts } from "./erase.ts";
import type { RequestPlaces } from "./erase-requests.ts";

test("a request that read a text before it was erased, and is logged within a second of that, is erased too", async (t) => {
  const { deps, customer, apiKey, clock, close } = await testContext();
  t.after(close);
  const { db } = deps.store;
  const phoneNumber = "+15550100001";
  const { contact } = await createContact(deps, customer.id, { idempotencyKey: null, body: { phoneNumber } });
  await eraseContact(deps, customer.id, contact.id);
  const places: RequestPlaces = new Map();
  const completedAt = async () => (await findErasure(db, customer.id, contact.id))?.completedAt;
  // The last delivery of an event ends long after the request of the erasure.
  await clock.advance(3_600_000);
  assert.equal(await eraseContacts(deps, places), false);
  assert.equal(await completedAt(), null);
  const read: LoggedRequest = {
    id: "req_late",
    customerId: customer.id,
    keyId: apiKey.id,
    method: "GET",
    path: "/v1/events",
    route: "/v1/events",
    status: 200,
    durationUs: 1_000,
    correlationId: "cor_1",
    errorCode: null,
    createdAt: clock.now(),
    loggedAt: clock.real(),
    request: null,
    response: `{"data":{"to":"${phoneNumber}","text":"Zanzibar"}}`,
    requestCut: false,
    responseCut: false,
  };
  await deps.store.logRequests([read]);
  await clock.advance(1_000);
  while (await eraseContacts(deps, places));
  assert.equal((await findRequest(db, read.id, {}))?.response, '"erased"');
  assert.equal(await completedAt(), clock.now());
});
