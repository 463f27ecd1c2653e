/**
 * Two processes on one database that decide about the same thing at once: the commit of one is held back until the other has committed, so
 * it is refused, decided again, and answered as one process would.
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Operation, Transaction } from "../../server/store/store.ts";
import { CommitGate } from "../support/commit-gate.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import type { TestService } from "../support/service.ts";
import { admin, customerIdAt, data, isConnected, startProcesses, type TwoProcesses } from "../support/two-processes.ts";
import { until } from "../support/wait.ts";

let processes: TwoProcesses;
let asked: TestService;
let owner: TestService;
let receiver: Receiver;
/** The commits of each process. */
const [askedGate, ownerGate] = [new CommitGate(), new CommitGate()];

before(async () => {
  processes = await startProcesses({
    onAsked: (store) => askedGate.watch(store),
    onOwner: (store) => ownerGate.watch(store),
  });
  ({ asked, owner } = processes);
  receiver = await startReceiver();
});
after(() => Promise.all([processes.stop(), receiver.stop()]));

let contacts = 0;
/** A contact that has never been written to. */
function nextContact(): string {
  contacts += 1;
  return `+1500557${String(contacts).padStart(4, "0")}`;
}

const send = (at: TestService, to: string) => at.ask("POST", "/v1/messages", { body: { to, content: { text: "Hi" } } });

/** Whether a transaction has an operation on a table. */
const has = (op: Operation["op"], table: string) => (transaction: Transaction) =>
  transaction.some((one) => one.op === op && "table" in one && one.table === table);

const addSandbox = async () =>
  (await admin(asked, "POST /v1/admin/instances", { name: "Another", provider: "sandbox", config: {} })).id as string;
const numbersOn = (instanceId: string) =>
  processes.database.sql("select id from numbers where instance_id = ?", [instanceId]);
const instancesLike = (id: string) => processes.database.sql("select id from instances where id = ?", [id]);
const removeAt = (at: TestService, path: string) => at.ask("DELETE", path, { key: at.adminKey });

test("a process is refused a number on an instance that the other deletes, or the delete of one that gets a number", async () => {
  const numbers = `/v1/admin/customers/${await customerIdAt(asked)}/numbers`;
  for (const [index, isDeletedFirst] of [true, false].entries()) {
    const instanceId = await addSandbox();
    await until(() => isConnected(asked, instanceId), { what: "the owner of the instance" });
    const body = { phoneNumber: `+1500556000${index}`, provider: "sandbox", instanceId };
    const add = () => asked.ask("POST", numbers, { key: asked.adminKey, body });
    const remove = () => removeAt(owner, `/v1/admin/instances/${instanceId}`);
    if (isDeletedFirst) {
      const { value: added, between } = await askedGate.during(has("insertUnique", "numbers"), add, remove);
      assert.equal(between.status, 200);
      assert.deepEqual([added.status, added.error?.code], [400, "VALIDATION_ERROR"]);
      assert.match(added.error?.message ?? "", new RegExp(`there is no instance ${instanceId}`));
    } else {
      const { value: removed, between } = await ownerGate.during(has("delete", "instances"), remove, add);
      assert.equal(between.status, 201);
      assert.deepEqual([removed.status, removed.error?.code], [400, "INVALID_STATUS"]);
      await removeAt(asked, `${numbers}/${between.data.id}`);
    }
    assert.equal((await instancesLike(instanceId)).length, isDeletedFirst ? 0 : 1);
    assert.equal((await numbersOn(instanceId)).length, 0);
  }
});

test("a process is refused a route to an instance that the other deletes, or the delete of one that gets a route", async () => {
  const path = `/v1/admin/customers/${await customerIdAt(asked)}/routes`;
  for (const isDeletedFirst of [true, false]) {
    const instanceId = await addSandbox();
    await until(() => isConnected(asked, instanceId), { what: "the owner of the instance" });
    const put = (routes: object[]) => asked.ask("PUT", path, { key: asked.adminKey, body: routes });
    const set = () => put([{ prefix: "+44", instanceId }]);
    const remove = () => removeAt(owner, `/v1/admin/instances/${instanceId}`);
    if (isDeletedFirst) {
      const { value, between } = await askedGate.during(has("update", "customers"), set, remove);
      assert.deepEqual([value.status, value.error?.code, between.status], [400, "VALIDATION_ERROR", 200]);
    } else {
      const { value, between } = await ownerGate.during(has("delete", "instances"), remove, set);
      assert.deepEqual([value.status, value.error?.code, between.status], [400, "INVALID_STATUS", 200]);
    }
    assert.equal((await put([])).status, 200);
  }
});

test("two moves of the clock by two processes at once add up", async () => {
  await data(asked, "POST /v1/sandbox/clock", { body: { reset: true } });
  for (const offsetMs of [7_200_000, 14_400_000]) {
    const move = (at: TestService) => at.ask("POST", "/v1/sandbox/clock", { body: { advance: "1h" } });
    const isMove = (transaction: Transaction) => has("put", "settings")(transaction);
    const { value, between } = await askedGate.during(
      isMove,
      () => move(asked),
      () => move(owner),
    );
    assert.deepEqual([value.status, between.status], [200, 200]);
    assert.equal(value.data.offsetMs, offsetMs);
    const isEverywhere = async () => (await data(owner, "GET /v1/sandbox/clock")).offsetMs === offsetMs;
    await until(isEverywhere, { what: "the moved clock" });
  }
  await data(asked, "POST /v1/sandbox/clock", { body: { reset: true } });
});

/** Messages whose chat is gone, except those that were erased. */
const strays = () =>
  processes.database.sql(
    "select id from messages where deleted_at is null and chat_id is not null and chat_id not in (select id from chats)",
    [],
  );
const chatIdOf = async (messageId: string) => (await data(owner, `GET /v1/messages/${messageId}`)).chatId as string;
const isStored = has("insert", "messages");

test("a message that the one process accepts while the other resets the sandbox has its chat, or is refused with it", async () => {
  const contact = nextContact();
  const first = (await send(asked, contact)).data;
  const chatId = await chatIdOf(first.id);
  const reset = () => owner.ask("POST", "/v1/sandbox/reset", { body: {} });
  const toThread = await askedGate.during(isStored, () => send(asked, contact), reset);
  assert.deepEqual([toThread.value.status, toThread.between.status], [202, 200]);
  const next = await chatIdOf(toThread.value.data.id);
  assert.notEqual(next, chatId);
  const toChat = await askedGate.during(
    isStored,
    () => asked.ask("POST", "/v1/messages", { body: { chatId: next, content: { text: "Hi" } } }),
    reset,
  );
  assert.deepEqual([toChat.value.status, toChat.value.error?.code], [404, "CONVERSATION_NOT_FOUND"]);
  assert.deepEqual(await strays(), []);
  assert.deepEqual((await data(asked, "GET /v1/messages")).messages, []);
});

test("a reset that the one process is asked for resets the phones that the other has", async () => {
  const settings = `/v1/sandbox/phones/${nextContact()}/settings`;
  await data(asked, `PUT ${settings}`, { body: { online: false } });
  assert.equal((await data(owner, `GET ${settings}`)).online, false);
  await data(asked, "POST /v1/sandbox/reset", { body: {} });
  assert.equal((await data(owner, `GET ${settings}`)).online, true);
});

test("a message that the one process accepts while the other deletes its erased thread has its chat", async () => {
  const isThreadGone = (transaction: Transaction) => has("delete", "chats")(transaction);
  await data(asked, "PUT /v1/webhooks", { body: { url: receiver.url, events: ["*"] } });
  for (const isDeletedFirst of [true, false]) {
    const phoneNumber = nextContact();
    const { id } = await data(asked, "POST /v1/contacts", { body: { phoneNumber } });
    const { data: first } = await send(asked, phoneNumber);
    await until(async () => (await data(owner, `GET /v1/messages/${first.id}`)).status === "delivered");
    const chatId = await chatIdOf(first.id);
    // The leader erases, and the request wakes it.
    const erase = () => data(owner, `DELETE /v1/contacts/${id}?erase=true`);
    const isErased = async () => (await erase()).erasedAt !== null;
    const write = () => send(asked, phoneNumber);
    const waitErased = () => until(isErased, { limitMs: 60_000, what: "the erasure" });
    const { status, data: message } = isDeletedFirst
      ? (await askedGate.during(isStored, write, waitErased)).value
      : (await ownerGate.during(isThreadGone, waitErased, write)).between;
    assert.equal(status, 202);
    await until(isErased, { what: "the end of the erasure" });
    assert.equal((await chatIdOf(message.id)) === chatId, !isDeletedFirst);
    assert.deepEqual(await strays(), []);
  }
});

test("a clock that is moved after the only instance that reaches people was deleted stays moved in every process", async () => {
  const config = { accountSid: `AC${"0".repeat(32)}`, authToken: "0".repeat(32), baseUrl: "http://127.0.0.1:9" };
  const { id } = await admin(asked, "POST /v1/admin/instances", { name: "Carrier", provider: "twilio", config });
  await admin(asked, `DELETE /v1/admin/instances/${id}`);
  const offsetAt = async (at: TestService) => (await data(at, "GET /v1/sandbox/clock")).offsetMs;
  for (const hours of [1, 2]) {
    await data(asked, "POST /v1/sandbox/clock", { body: { advance: "1h" } });
    const what = `a clock that is ${hours} h ahead`;
    await until(async () => (await offsetAt(owner)) === hours * 3_600_000, { limitMs: 60_000, what });
    assert.equal(await offsetAt(asked), hours * 3_600_000);
  }
});
