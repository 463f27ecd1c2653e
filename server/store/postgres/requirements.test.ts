/** Tests of two stores on one PostgreSQL database, of which one takes away what the transaction of the other requires. */

import assert from "node:assert/strict";
import { mock, type TestContext, test } from "node:test";
import pg from "pg";
import { addChat, deleteEmpty, write } from "../../../test/conformance/store-requirements.ts";
import { idempotencyOf, Stage } from "../../../test/conformance/store-stage.ts";
import { isLockAwaited } from "../../../test/support/postgres.ts";
import { preparedPostgresForFile } from "../../../test/support/service-database.ts";
import { until } from "../../../test/support/wait.ts";
import type { Store, Transaction } from "../store.ts";
import { openPostgres } from "./store.ts";

const postgres = preparedPostgresForFile();

interface TwoStores {
  first: Store;
  second: Store;
  /** Whether a connection waits for a lock. */
  isWaiting(): Promise<boolean>;
}

async function openStores(t: TestContext): Promise<TwoStores> {
  const { url, drop } = await postgres.create();
  const [first, second] = [await openPostgres(url, "member_1"), await openPostgres(url, "member_2")];
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  t.after(async () => {
    mock.restoreAll();
    await admin.end();
    await Promise.all([first.close(), second.close()]);
    await drop();
  });
  return { first, second, isWaiting: () => isLockAwaited(admin) };
}

/** Does `before`, and does `after` between the last statement of `before` and its COMMIT. Returns both results. */
async function overlap<Before, After>(
  { isWaiting }: TwoStores,
  before: () => Promise<Before>,
  after: () => Promise<After>,
): Promise<[Before, After]> {
  const query = pg.Client.prototype.query as unknown as (this: pg.Client, ...parameters: unknown[]) => unknown;
  let release: (() => void) | null = null;
  // The COMMIT of a read that ended before is sent late, and nobody waits for it.
  const writing = new Set<pg.Client>();
  mock.method(pg.Client.prototype, "query", function (this: pg.Client, ...parameters: unknown[]) {
    if (String(parameters[0]).startsWith("begin") && !String(parameters[0]).startsWith("begin read only"))
      writing.add(this);
    if (parameters[0] !== "commit" || release !== null || !writing.has(this)) return query.apply(this, parameters);
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    return released.then(() => query.apply(this, parameters));
  });
  const first = before();
  const commit = await until(() => release, { what: "the first COMMIT" });
  let hasEnded = false;
  const second = after().finally(() => {
    hasEnded = true;
  });
  await until(async () => hasEnded || (await isWaiting()), { what: "the second one" });
  commit();
  return await Promise.all([first, second]);
}

for (const isDeletedFirst of [true, false]) {
  const order = isDeletedFirst
    ? "a delete of a chat, then a message into it"
    : "a message into a chat, then its delete";
  test(`the later one of two stores that overlap is refused: ${order}`, async (t) => {
    const stores = await openStores(t);
    const stage = new Stage(stores.first);
    const customer = await stage.addCustomer();
    const chat = await addChat(stage, customer);
    const both: Transaction[] = [write(stage, customer, chat).transaction, deleteEmpty(customer, chat)];
    if (isDeletedFirst) both.reverse();
    const [before = assert.fail(), after = assert.fail()] = both;
    const results = await overlap(
      stores,
      () => stores.first.commit(before),
      () => stores.second.commit(after),
    );
    assert.deepEqual(
      results.map(({ result }) => result),
      ["ok", "conflict"],
    );
    assert.equal((await stage.all("chats")).length, (await stage.all("messages")).length);
  });
}

test("a message into a chat is refused while the reset of another store removes that chat", async (t) => {
  const stores = await openStores(t);
  const stage = new Stage(stores.first);
  const customer = await stage.addCustomer();
  const chat = await addChat(stage, customer);
  const { transaction } = write(stage, customer, chat);
  const [removed, { result }] = await overlap(
    stores,
    () => stores.first.reset(customer.id, 10),
    () => stores.second.commit(transaction),
  );
  assert.deepEqual([removed, result], [1, "conflict"]);
  assert.deepEqual(await stage.all("messages"), []);
});

test("a setting is changed by one store if two require the same value of it", async (t) => {
  const stores = await openStores(t);
  const stage = new Stage(stores.first);
  const move = (store: Store, from: string | null, value: string) => {
    const of = { table: "settings", scope: "n" } as const;
    return store.commit([
      from === null
        ? { op: "requireNone", ...of, where: { name: "n" } }
        : { op: "require", ...of, where: { name: "n", value: from } },
      { op: "put", table: "settings", record: { name: "n", value } },
    ]);
  };
  for (const [from, first, second] of [
    [null, "1", "2"],
    ["1", "3", "4"],
  ] as const) {
    const results = await overlap(
      stores,
      () => move(stores.first, from, first),
      () => move(stores.second, from, second),
    );
    mock.restoreAll();
    assert.deepEqual(
      results.map(({ result }) => result),
      ["ok", "conflict"],
    );
    assert.deepEqual(await stage.all("settings"), [{ name: "n", value: first }]);
  }
});

test("a key that another store takes between the check and the insert is a duplicate, and the rest of the group commits", async (t) => {
  const stores = await openStores(t);
  const stage = new Stage(stores.first);
  const insert = { op: "insertUnique", table: "idempotency", record: idempotencyOf("key") } as const;
  const customer = stage.customer();
  const [first, second] = await overlap(
    stores,
    () => stores.first.commit([insert]),
    () =>
      Promise.all([
        stores.second.commit([{ op: "insert", table: "customers", record: customer }]),
        stores.second.commit([insert, { op: "insert", table: "customers", record: stage.customer() }]),
      ]),
  );
  assert.deepEqual(
    [first, ...second].map(({ result }) => result),
    ["ok", "ok", "duplicate"],
  );
  assert.deepEqual(
    (await stage.all("customers")).map(({ id }) => id),
    [customer.id],
  );
});

test("a transaction alone is a duplicate too if another store takes its key between the check and the insert", async (t) => {
  const stores = await openStores(t);
  const insert = { op: "insertUnique", table: "idempotency", record: idempotencyOf("key") } as const;
  const results = await overlap(
    stores,
    () => stores.first.commit([insert]),
    () => stores.second.commit([insert]),
  );
  assert.deepEqual(
    results.map(({ result }) => result),
    ["ok", "duplicate"],
  );
});
