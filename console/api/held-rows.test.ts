import assert from "node:assert/strict";
import test from "node:test";
import { addPage, beginRows, patchRows, type RecordPage, takeHead } from "./held-rows.ts";

interface Row {
  id: string;
  status?: string;
}

const rowId = ({ id }: Row) => id;
const page = (ids: string, next: string | null = null): RecordPage<Row> => ({
  rows: [...ids].map((id) => ({ id })),
  next,
});
const shown = ({ rows }: { rows: readonly Row[] }) => rows.map(rowId).join("");

test("rows that come in wait until they are asked for, and those that are shown stay in their places", () => {
  const held = takeHead(beginRows(page("dcb", "b")), page("fed", "d"), rowId);
  assert.equal(shown(held), "dcb");
  assert.equal(held.freshCount, 2);
  assert.equal(shown(beginRows(held.head)), "fed");
});

test("a list that shows what is new keeps the older rows that were read", () => {
  const two = addPage(beginRows(page("dcb", "b")), "b", page("a"), rowId);
  const held = takeHead(two, page("fed", "d"), rowId, true);
  assert.equal(shown(held), "fedcba");
  assert.equal(held.freshCount, 0);
  assert.equal(held.next, null);
});

test("a row that the first page has no more is removed, and one beyond the page stays", () => {
  const two = addPage(beginRows(page("edc", "c")), "c", page("ba"), rowId);
  assert.equal(shown(takeHead(two, page("ecb", "b"), rowId)), "ecba");
  assert.equal(shown(takeHead(two, page("ed"), rowId)), "ed");
  assert.equal(shown(takeHead(two, page(""), rowId)), "");
});

test("a page that has none of the rows is all new; a list without rows shows it at once", () => {
  const held = takeHead(beginRows(page("ba", "a")), page("zyx", "x"), rowId);
  assert.equal(shown(held), "ba");
  assert.equal(held.freshCount, 3);
  assert.equal(shown(takeHead(held, page("zyx", "x"), rowId, true)), "zyx");
  assert.equal(shown(takeHead(beginRows(page("")), page("a"), rowId)), "a");
});

test("rows of the first page are replaced by what was read last, older ones by what is told of them", () => {
  const two = addPage(beginRows({ rows: [{ id: "b", status: "queued" }], next: "b" }), "b", page("a"), rowId);
  const read = takeHead(two, { rows: [{ id: "b", status: "sent" }], next: "b" }, rowId);
  const told = patchRows(read, new Map([["a", { status: "failed" }]]), rowId);
  assert.deepEqual(told.rows, [
    { id: "b", status: "sent" },
    { id: "a", status: "failed" },
  ]);
  assert.equal(patchRows(told, new Map([["z", { status: "sent" }]]), rowId), told);
});

test("a page that was asked for before the list began anew leaves no hole in it, and no row comes twice", () => {
  const held = beginRows(page("zy", "y"));
  assert.equal(addPage(held, "b", page("a"), rowId), held);
  assert.equal(shown(addPage(held, "y", page("yx"), rowId)), "zyx");
});
