/** Tests that another process on the same database learns of every change of the configuration. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { keyOf, Stage } from "../../../test/conformance/store-stage.ts";
import { preparedPostgresForFile } from "../../../test/support/service-database.ts";
import type { ConfigPart } from "../shared-database.ts";
import type { Store, Transaction } from "../store.ts";
import { openPostgres } from "./store.ts";

const postgres = preparedPostgresForFile();

/** The stores of two processes on one database, closed after the test. */
async function twoStores(t: TestContext): Promise<[Store, Store]> {
  const { url, drop } = await postgres.create();
  const [one, other] = [await openPostgres(url, "a"), await openPostgres(url, "b")];
  t.after(async () => {
    await one.close();
    await other.close();
    await drop();
  });
  return [one, other];
}

/** The parts whose versions another store sees raised by a change. */
async function raisedBy(other: Store, change: () => Promise<unknown>): Promise<ConfigPart[]> {
  assert.ok(other.shared !== null);
  const former = await other.shared.configVersions();
  await change();
  const present = await other.shared.configVersions();
  return (Object.keys(present) as ConfigPart[]).filter((part) => present[part] > former[part]).toSorted();
}

test("the commit of a change raises the version of its part for every process, and nothing else raises one", async (t) => {
  const [store, other] = await twoStores(t);
  const stage = new Stage(store);
  const raised = (change: () => Promise<unknown>) => raisedBy(other, change);
  const commit = (transaction: Transaction) => () => stage.ok(transaction);
  const customer = stage.customer();
  assert.deepEqual(await raised(commit([{ op: "insert", table: "customers", record: customer }])), [
    "receivers",
    "routing",
  ]);
  const key = keyOf(stage, customer);
  assert.deepEqual(await raised(commit([{ op: "insert", table: "keys", record: key }])), ["keys"]);
  const used = { op: "update", table: "keys", id: key.id, version: 1, set: { lastUsedAt: 1 } } as const;
  assert.deepEqual(await raised(commit([used])), []);
  const revoked = { op: "update", table: "keys", id: key.id, version: 2, set: { revokedAt: 1 } } as const;
  assert.deepEqual(await raised(commit([revoked])), ["keys"]);
  assert.deepEqual(await raised(() => stage.addEndpoint(customer)), ["receivers"]);
  assert.deepEqual(await raised(() => stage.addMessage(customer)), []);
  const setting = { op: "put", table: "settings", record: { name: "clock-shift", value: "5" } } as const;
  assert.deepEqual(await raised(commit([setting])), ["settings"]);
  assert.deepEqual(await raised(() => store.probe()), []);
  const optOut = {
    customerId: customer.id,
    number: "+1",
    contact: "+2",
    lastForm: null,
    scope: "number",
    source: "api",
    keyword: null,
    createdAt: 1,
  };
  assert.deepEqual(await raised(commit([{ op: "insert", table: "optOuts", record: optOut as never }])), ["optOuts"]);
  assert.deepEqual(
    await raised(() => store.commitGathered([{ op: "delete", table: "optOuts", where: { number: "+1" } }])),
    ["optOuts"],
  );
});

test("other processes learn of deleted threads, of opt-outs that a reset removes, and of configuration that leaves the quarantine", async (t) => {
  const [store, other] = await twoStores(t);
  const stage = new Stage(store);
  const customer = await stage.addCustomer();
  const chat = {
    id: stage.newId("chat"),
    version: 1,
    customerId: customer.id,
    key: "a thread",
    isGroup: false,
    from: "+1",
    contact: "+2",
    lastForm: null,
  };
  const thread = {
    ...chat,
    instanceId: "inst_1",
    reference: null,
    channel: "sms",
    name: null,
    participants: ["+2"],
    leftAt: null,
  };
  const record = { ...thread, createdAt: 1, updatedAt: 1 } as never;
  const added = () => stage.ok([{ op: "insertUnique", table: "chats", record }]);
  assert.deepEqual(await raisedBy(other, added), [], "a cached thread stays as it is");
  const deleted = () => stage.ok([{ op: "delete", table: "chats", where: { id: chat.id } }]);
  assert.deepEqual(await raisedBy(other, deleted), ["threads"]);
  const endpoint = await stage.addEndpoint(customer);
  const optOut = {
    customerId: customer.id,
    number: "+1",
    contact: "+2",
    lastForm: null,
    scope: "number",
    source: "api",
    keyword: null,
    createdAt: 1,
  };
  await stage.ok([{ op: "insert", table: "optOuts", record: optOut as never }]);
  assert.deepEqual(await raisedBy(other, () => store.reset(customer.id, 99)), ["optOuts", "threads"]);
  assert.deepEqual(await raisedBy(other, () => store.reset(customer.id, 99)), [], "nothing was left to remove");
  const recheck = () => store.recheck(null, 99, 1);
  const place = { table: "endpoints", id: endpoint.id } as const;
  store.quarantine({ ...place, customerId: customer.id, reason: "a test" });
  await store.probe();
  assert.deepEqual(await raisedBy(other, async () => assert.deepEqual((await recheck()).mended, [place])), [
    "quarantine",
    "receivers",
  ]);
  assert.deepEqual(await raisedBy(other, recheck), []);
});
