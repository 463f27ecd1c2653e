import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { SCALE_DOCS } from "./scale-docs.ts";
import { bytesStored, deploymentOf, limitsOfSqlite, planCells, scaleTables, withTables } from "./scale-model.ts";

test("the tables of docs/scale.md are those of the model: npm run docs writes them", () => {
  const document = readFileSync(SCALE_DOCS, "utf8");
  assert.equal(withTables(document, scaleTables()), document);
});

test("a document without one of the tables is refused", () => {
  assert.throws(() => withTables("<!-- table: a -->\n<!-- end: a -->\n", { b: "| |" }), /table "b" once/);
  assert.equal(
    withTables("<!-- table: a -->\nold\n<!-- end: a -->\n", { a: "| new |" }),
    "<!-- table: a -->\n\n| new |\n\n<!-- end: a -->\n",
  );
});

test("limits are in the order in which they are reached", () => {
  const rates = limitsOfSqlite().map(({ messagesPerSecond }) => messagesPerSecond);
  assert.deepEqual(
    rates,
    rates.toSorted((one, other) => one - other),
  );
});

test("more processes carry more until the write-ahead log is the limit, and nothing after it", () => {
  const deployments = [1, 2, 4, 8, 16, 32].map(deploymentOf);
  for (const [index, { carries, first }] of deployments.entries()) {
    const before = deployments[index - 1];
    if (before === undefined) continue;
    if (before.first === "write-ahead log") assert.deepEqual([carries, first], [before.carries, before.first]);
    else assert.ok(carries > before.carries);
  }
});

test("a plan has enough cells and processes for its rate", () => {
  for (const messagesPerSecond of [500, 10_000, 100_000]) {
    const { cells, perCell, processes } = planCells(messagesPerSecond);
    assert.ok(cells * perCell >= messagesPerSecond * 0.999);
    const { carries } = deploymentOf(processes / cells);
    assert.ok(perCell < carries, `${perCell} of ${carries}`);
  }
});

test("a message costs its events until the retention ends, and its record afterwards", () => {
  const aDay = 86_400;
  assert.equal(bytesStored(1, 30, 30), 30 * aDay * 7_000);
  assert.equal(bytesStored(1, 1, 30), aDay * (7_000 + 29 * 2_000));
});
