/** Pages that are read a window at a time: together they are the list, and each reads a bounded number of rows. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import fc from "fast-check";
import { runsOf } from "../../test/support/runs.ts";
import {
  countAll,
  FIRST_PAGE,
  type IndexedList,
  indexed,
  is,
  type ListPage,
  type PageStart,
  readPage,
} from "./list-windows.ts";
import { queryDatabase } from "./sqlite/driver.ts";
import { createReader } from "./sqlite/query.ts";

interface Listed {
  id: string;
  status: string;
}

/**
 * A list of rows whose statuses are these, the oldest first, among others' rows; and how many statements it was asked.
 */
function listOf(statuses: readonly string[], windows: { windowRows: number; windowsMax: number }) {
  const database = new DatabaseSync(":memory:");
  database.exec(`create table calls (id text primary key, customer_id text, status text);
    create index calls_list on calls (customer_id, id)`);
  const insert = database.prepare("insert into calls values (?, ?, ?)");
  const rows = statuses.map((status, index): Listed => ({ id: `call_${String(index).padStart(4, "0")}`, status }));
  for (const { id, status } of rows) {
    insert.run(id, "cust_1", status);
    insert.run(`${id}x`, "cust_2", status);
  }
  const read = createReader(database);
  const asked = { statements: 0 };
  const db = queryDatabase(async (query) => {
    asked.statements += 1;
    return read(query);
  });
  const list: IndexedList<Listed> = {
    db,
    table: "calls",
    column: "id",
    order: "newest",
    narrow: [indexed("customer_id", "cust_1")],
    filter: is("status", "missed"),
    decode: (row) => row as Listed,
    placeOf: ({ id }) => id,
    ...windows,
  };
  return { list, rows, asked };
}

const Statuses = fc.array(fc.constantFrom("missed", "ended"), { maxLength: 60 });
const Windows = fc.record({ windowRows: fc.integer({ min: 1, max: 7 }), windowsMax: fc.integer({ min: 1, max: 4 }) });
const Order = fc.constantFrom("newest" as const, "oldest" as const);

test("the pages of a list together hold each matching record once and in order, wherever windows end", async () => {
  await fc.assert(
    fc.asyncProperty(
      Statuses,
      Windows,
      Order,
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 0, max: 20 }),
      async (statuses, windows, order, limit, skip) => {
        const { list, rows, asked } = listOf(statuses, windows);
        const matching = rows.filter(({ status }) => status === "missed").map(({ id }) => id);
        const expected = (order === "newest" ? matching.toReversed() : matching).slice(skip);
        const found: string[] = [];
        for (let start: PageStart | null = { from: null, skip }; start !== null; ) {
          asked.statements = 0;
          const page: ListPage<Listed> = await readPage({ ...list, order }, start, limit);
          assert.ok(asked.statements <= 3 * windows.windowsMax, `${asked.statements} statements for a page`);
          assert.ok(page.records.length <= limit);
          found.push(...page.records.map(({ id }) => id));
          start = page.next;
        }
        assert.deepEqual(found, expected);
        assert.equal(await countAll({ ...list, order }), matching.length);
      },
    ),
    { numRuns: runsOf(100) },
  );
});

test("a page without a match in its windows is empty, and has the cursor of the next page", async () => {
  const { list } = listOf(["missed", ...Array<string>(30).fill("ended")], { windowRows: 5, windowsMax: 2 });
  const page = await readPage(list, FIRST_PAGE, 10);
  assert.deepEqual(page, { records: [], next: { from: "call_0021", skip: 0 } });
});

test("a list ends before its `stop` position", async () => {
  const { list, rows } = listOf(Array<string>(20).fill("missed"), { windowRows: 4, windowsMax: 9 });
  const page = await readPage({ ...list, order: "oldest", stop: "call_0010" }, FIRST_PAGE, 50);
  assert.deepEqual(
    page.records.map(({ id }) => id),
    rows.slice(0, 10).map(({ id }) => id),
  );
  assert.equal(page.next, null);
});
