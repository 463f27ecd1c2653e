/** The opt-out lists as sending reads them: from memory, and never outdated. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { commitAll, type TestContext, testContext } from "../../../test/support/context.ts";
import { openContext } from "../../../test/support/sending.ts";
import { type Message, NEW_MESSAGE } from "../../core/message.ts";
import type { EngineDeps } from "../engine-deps.ts";
import { keywordEffect } from "./keyword.ts";
import { OptOutCache } from "./opt-out-cache.ts";
import { pairAt } from "./opt-out-change.ts";
import { invalidateOptOuts, isOptedOut, optIn, optOut } from "./opt-outs.ts";
import { setOptOutSettings } from "./set-opt-outs.ts";

const CONTACT = "+15550100001";
let made: TestContext;
let deps: EngineDeps;

before(async () => {
  made = await testContext();
  deps = made.deps;
});
after(() => made.close());

const pair = (contact = CONTACT, number = made.number.address) => ({ customerId: made.customer.id, number, contact });

const cached = (contact = CONTACT, number = made.number.address) => pairAt(pair(contact, number));

function inbound(text: string | null): Message {
  const { customer, number, instance, clock } = made;
  return {
    ...NEW_MESSAGE,
    id: deps.newId("msg"),
    customerId: customer.id,
    keyId: null,
    direction: "inbound",
    from: CONTACT,
    to: number.address,
    channel: "sms",
    channelsLeft: [],
    fallback: false,
    fallbackAfterMs: null,
    text,
    correlationId: "cor_0",
    instanceId: instance.id,
    dueAt: null,
    expiresAt: null,
    scheduledAt: null,
    createdAt: clock.now(),
    updatedAt: clock.now(),
  };
}

async function receive(text: string): Promise<void> {
  const { operations } = await keywordEffect(deps, inbound(text));
  await commitAll(deps, operations);
  invalidateOptOuts(deps, operations);
}

test("isOptedOut reads the list once, and then returns from memory without waiting", async () => {
  assert.equal(await isOptedOut(deps, pair()), false);
  assert.equal(isOptedOut(deps, pair()), false);
  assert.equal(isOptedOut(deps, pair("+15550100002")), false);
});

test("STOP holds from the moment that it is on disk, whatever the cache has, and START ends it", async () => {
  await receive("Stop");
  assert.equal(await isOptedOut(deps, pair()), true);
  assert.equal(isOptedOut(deps, pair()), true);
  assert.equal(isOptedOut(deps, pair("+15550100002")), false);
  await receive("STOP");
  await receive("start");
  assert.equal(await isOptedOut(deps, pair()), false);
});

test("a message that only contains a keyword changes nothing, nor does a message without a text", async () => {
  assert.deepEqual((await keywordEffect(deps, inbound("stop by later"))).operations, []);
  assert.deepEqual((await keywordEffect(deps, inbound(null))).operations, []);
});

test("an opt-out that the API adds twice is one entry, and optIn returns what there was", async () => {
  const first = await optOut(deps, pair());
  await made.clock.advance(1_000);
  assert.deepEqual(await optOut(deps, pair()), first);
  assert.equal(await isOptedOut(deps, pair()), true);
  assert.deepEqual(await optIn(deps, pair(), null), [first]);
  assert.deepEqual(await optIn(deps, pair(), null), []);
  assert.equal(await isOptedOut(deps, pair()), false);
});

test("a list that changed during its read is not cached", async () => {
  const lists = new OptOutCache(deps.store.db);
  const reading = lists.has(cached());
  lists.invalidate(made.number.address, made.customer.id);
  assert.equal(await reading, false);
  assert.ok(lists.has(cached()) instanceof Promise, "it is read anew");
});

test("the cache is bounded: a list too long for it is read for each contact, and the oldest list is dropped", async () => {
  await setOptOutSettings(deps, made.customer.id, { scope: "number" });
  for (const contact of ["+15550100011", "+15550100012", "+15550100013"]) await optOut(deps, pair(contact));
  await optOut(deps, pair("+15550100011", "+15550000201"));
  await optOut(deps, pair("+15550100011", "+15550000202"));
  const lists = new OptOutCache(deps.store.db, { contactsMax: 2 });
  const { address } = made.number;
  assert.equal(await lists.has(cached("+15550100012")), true);
  assert.equal(await lists.has(cached("+15550100014")), false);
  assert.ok(lists.has(cached("+15550100012")) instanceof Promise, "too long to keep");
  await lists.has(cached(CONTACT, "+15550000201"));
  await lists.has(cached(CONTACT, "+15550000202"));
  assert.equal(lists.has(cached("+15550100011", "+15550000201")), true);
  const third = "+15550000203";
  await optOut(deps, pair("+15550100011", third));
  await lists.has(cached(CONTACT, third));
  assert.ok(lists.has(cached(CONTACT, "+15550000201")) instanceof Promise, "the oldest made room");
  assert.equal(lists.has(cached(CONTACT, "+15550000202")), false);
  lists.invalidate(address, made.customer.id);
  assert.equal(await lists.has(cached("+15550100012")), true);
});

test("a cache that may lack what another process changed looks every contact up", async () => {
  let isCurrent = true;
  const lists = new OptOutCache(deps.store.db, { isCurrent: () => isCurrent });
  const contact = "+15550100021";
  assert.equal(await lists.has(cached(contact)), false);
  await optOut(deps, pair(contact));
  assert.equal(await lists.has(cached(contact)), false, "the cached list is older");
  isCurrent = false;
  assert.equal(await lists.has(cached(contact)), true);
  isCurrent = true;
  lists.clear();
  assert.equal(await lists.has(cached(contact)), true);
});

test("a record keeps the scope under which it was made, and a STOP at once to two numbers is one record", async (t) => {
  const stage = await openContext(t);
  const { customer, number } = stage;
  const at = (place: string) => ({ customerId: customer.id, number: place, contact: CONTACT });
  const second = "+15550000302";
  await setOptOutSettings(stage.deps, customer.id, { scope: "number" });
  assert.equal((await optOut(stage.deps, at(number.address))).scope, "number");
  await setOptOutSettings(stage.deps, customer.id, { scope: "customer" });
  assert.equal((await optOut(stage.deps, at(number.address))).scope, "number");
  assert.equal(await isOptedOut(stage.deps, at(second)), false);
  await optIn(stage.deps, at(number.address), null);
  const made = await Promise.all([optOut(stage.deps, at(number.address)), optOut(stage.deps, at(second))]);
  assert.deepEqual(made[0], made[1]);
  assert.equal(await isOptedOut(stage.deps, at("+15550000303")), true);
  assert.equal((await optIn(stage.deps, at("+15550000304"), null)).length, 1);
  assert.equal(await isOptedOut(stage.deps, at(number.address)), false);
});

test("a number that moved keeps its former customer's opt-out for it and, if the new one ends it, for the former one's others", async (t) => {
  const stage = await openContext(t);
  const other = await stage.addTenant("Other");
  const former = { customerId: stage.customer.id, number: "+15550000401", contact: CONTACT };
  const present = { ...former, customerId: other.customer.id };
  await optOut(stage.deps, former);
  assert.equal(await isOptedOut(stage.deps, present), true);
  assert.equal(await isOptedOut(stage.deps, { ...present, number: "+15550000402" }), false);
  assert.equal((await optOut(stage.deps, present)).customerId, other.customer.id);
  assert.equal(await isOptedOut(stage.deps, { ...present, number: "+15550000402" }), true);
  assert.equal((await optIn(stage.deps, present, null)).length, 1);
  assert.equal(await isOptedOut(stage.deps, present), false);
  assert.equal(await isOptedOut(stage.deps, { ...former, number: stage.number.address }), true);
});
