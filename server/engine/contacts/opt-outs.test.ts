/** The opt-out lists as sending reads them: from memory, and never outdated. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { commitAll, type TestContext, testContext } from "../../../test/support/context.ts";
import { type Message, NEW_MESSAGE } from "../../core/message.ts";
import type { EngineDeps } from "../engine-deps.ts";
import { OptOutCache } from "./opt-out-cache.ts";
import { invalidateOptOuts, isOptedOut, keywordOperations, optIn, optOut } from "./opt-outs.ts";

const CONTACT = "+15550100001";
let made: TestContext;
let deps: EngineDeps;

before(async () => {
  made = await testContext();
  deps = made.deps;
});
after(() => made.close());

const pair = (contact = CONTACT, number = made.number.address) => ({ customerId: made.customer.id, number, contact });

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
  const operations = keywordOperations(deps, inbound(text));
  await commitAll(deps, operations);
  invalidateOptOuts(deps, operations);
}

test("isOptedOut reads the list once, and then returns from memory without waiting", async () => {
  const { address } = made.number;
  assert.equal(await isOptedOut(deps, address, CONTACT), false);
  assert.equal(isOptedOut(deps, address, CONTACT), false);
  assert.equal(isOptedOut(deps, address, "+15550100002"), false);
});

test("STOP holds from the moment that it is on disk, whatever the cache has, and START ends it", async () => {
  const { address } = made.number;
  await receive("Stop");
  assert.equal(await isOptedOut(deps, address, CONTACT), true);
  assert.equal(isOptedOut(deps, address, CONTACT), true);
  assert.equal(isOptedOut(deps, address, "+15550100002"), false);
  await receive("STOP");
  await receive("start");
  assert.equal(await isOptedOut(deps, address, CONTACT), false);
});

test("a message that only contains a keyword changes nothing, nor does a message without a text", () => {
  assert.deepEqual(keywordOperations(deps, inbound("stop by later")), []);
  assert.deepEqual(keywordOperations(deps, inbound(null)), []);
});

test("an opt-out that the API adds twice is one entry, and optIn returns whether there was one", async () => {
  const first = await optOut(deps, pair());
  await made.clock.advance(1_000);
  assert.deepEqual(await optOut(deps, pair()), first);
  assert.equal(await isOptedOut(deps, made.number.address, CONTACT), true);
  assert.equal(await optIn(deps, made.number.address, CONTACT), true);
  assert.equal(await optIn(deps, made.number.address, CONTACT), false);
  assert.equal(await isOptedOut(deps, made.number.address, CONTACT), false);
});

test("a list that changed during its read is not cached", async () => {
  const lists = new OptOutCache(deps.store.db);
  const reading = lists.has(made.number.address, CONTACT);
  lists.invalidate(made.number.address);
  assert.equal(await reading, false);
  assert.ok(lists.has(made.number.address, CONTACT) instanceof Promise, "it is read anew");
});

test("the cache is bounded: a list too long for it is read for each contact, and the oldest list is dropped", async () => {
  for (const contact of ["+15550100011", "+15550100012", "+15550100013"]) await optOut(deps, pair(contact));
  await optOut(deps, pair("+15550100011", "+15550000201"));
  await optOut(deps, pair("+15550100011", "+15550000202"));
  const lists = new OptOutCache(deps.store.db, { contactsMax: 2 });
  const { address } = made.number;
  assert.equal(await lists.has(address, "+15550100012"), true);
  assert.equal(await lists.has(address, "+15550100014"), false);
  assert.ok(lists.has(address, "+15550100012") instanceof Promise, "too long to keep");
  await lists.has("+15550000201", CONTACT);
  await lists.has("+15550000202", CONTACT);
  assert.equal(lists.has("+15550000201", "+15550100011"), true);
  const third = "+15550000203";
  await optOut(deps, pair("+15550100011", third));
  await lists.has(third, CONTACT);
  assert.ok(lists.has("+15550000201", CONTACT) instanceof Promise, "the oldest made room");
  assert.equal(lists.has("+15550000202", CONTACT), false);
  lists.invalidate(address);
  assert.equal(await lists.has(address, "+15550100012"), true);
});

test("a cache that may lack what another process changed looks every contact up", async () => {
  let isCurrent = true;
  const lists = new OptOutCache(deps.store.db, { isCurrent: () => isCurrent });
  const contact = "+15550100021";
  assert.equal(await lists.has(made.number.address, contact), false);
  await optOut(deps, pair(contact));
  assert.equal(await lists.has(made.number.address, contact), false, "the cached list is older");
  isCurrent = false;
  assert.equal(await lists.has(made.number.address, contact), true);
  isCurrent = true;
  lists.clear();
  assert.equal(await lists.has(made.number.address, contact), true);
});
