import assert from "node:assert/strict";
import { test } from "node:test";
import { type Column, cut, table, wrapped } from "./table.ts";
import { widthOf } from "./width.ts";

const plain = (_style: unknown, text: string) => text;
const ID = "msg_019a0000-0000-7000-8000-0123456789ab";
const AT = "2031-05-01T09:00:00.123Z";

interface Row {
  id: string;
  at: string;
  name: string;
  text: string;
}

const COLUMNS: Column<Row>[] = [
  { title: "ID", value: (row) => row.id },
  { title: "AT", value: (row) => row.at },
  { title: "NAME", value: (row) => row.name },
  { title: "TEXT", value: (row) => row.text },
];
const row = (more: Partial<Row> = {}): Row => ({ id: ID, at: AT, name: "Ada", text: "Hello", ...more });
const lines = (rows: Row[], width: number) => table(rows, COLUMNS, plain, width, "Nothing.").split("\n");
const widest = (text: readonly string[]) => Math.max(...text.map((line) => widthOf(line)));

test("ids and times are whole if there is room, and else shortened, times first", () => {
  assert.equal(lines([row()], 200)[1], `${ID}  ${AT}  Ada   Hello`);
  assert.equal(lines([row()], 78)[1], `${ID}  05-01 09:00:00Z  Ada   Hello`);
  assert.equal(lines([row()], 60)[1], "msg_…456789ab  05-01 09:00:00Z  Ada   Hello");
  assert.equal(lines([row()], Number.POSITIVE_INFINITY)[1], `${ID}  ${AT}  Ada   Hello`);
});

test("an id in the last column keeps its end: times and ids are shortened first", () => {
  const columns = COLUMNS.slice(1, 3).concat({ title: "ABOUT", value: (shown) => shown.id });
  const [, line] = table([row()], columns, plain, 60, "Nothing.").split("\n");
  assert.equal(line, "05-01 09:00:00Z  Ada   msg_…456789ab");
});

test("a table is never wider than a terminal of 60 or more columns", () => {
  const rows = [
    row({ name: "A name that is longer than anybody's".repeat(3), text: "x".repeat(300) }),
    row({ id: "short" }),
  ];
  for (let width = 60; width <= 140; width++) assert.ok(widest(lines(rows, width)) <= width, String(width));
  assert.match(lines(rows, 80)[1] ?? "", / A name .*… +x+…$/);
  assert.ok(widest(lines(rows, Number.POSITIVE_INFINITY)) > 300);
});

test("columns are aligned and no character is split, even if characters are two columns wide", () => {
  const rows = [row({ name: "数据库" }), row({ name: "👩‍👩‍👧" }), row({ name: "Ada" })];
  const at = lines(rows, 200)
    .slice(1)
    .map((line) => widthOf(line.slice(0, line.indexOf("Hello"))));
  assert.deepEqual(at, [at[0], at[0], at[0]]);
  assert.equal(cut("数据库", 6), "数据库");
  assert.equal(cut("数据库", 5), "数据…");
  assert.equal(cut("数据库", 4), "数…");
  assert.equal(cut("ab👩‍👩‍👧", 3), "ab…");
  assert.equal(wrapped("数据 库数 据库", 9, 2), "数据 库数\n  据库");
});

test("an optional column is left out before numbers are cut, and --wide shows it", () => {
  const columns = COLUMNS.map((column) => (column.title === "NAME" ? { ...column, optional: true } : column));
  const rows = [row({ name: "+15005550100" })];
  const heading = (width: number) => table(rows, columns, plain, width, "").split("\n")[0] ?? "";
  assert.match(heading(60), /^ID +AT +NAME +TEXT$/);
  assert.match(heading(45), /^ID +AT +TEXT$/);
  assert.match(heading(Number.POSITIVE_INFINITY), /^ID +AT +NAME +TEXT$/);
});

test("no cell of a table has a control of the terminal or a mark that changes the direction of its text", () => {
  for (const mark of ["\u001b", "\u009b", "\u061c", "\u200e", "\u200f", "\u202e", "\u2066"]) {
    assert.ok(lines([row({ text: `a${mark}b` })], 200)[1]?.endsWith("  a\ufffdb"));
  }
});
