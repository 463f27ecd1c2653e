/** Tests of the copy of rows between databases, by databases that are maps in memory. */

import assert from "node:assert/strict";
import test from "node:test";
import type { CopiedTable, CopiedValue } from "./copied-tables.ts";
import { CopyDiffers, type CopyOptions, compareRows, copyRows, NOT_BEGUN, type TableProgress } from "./copy-rows.ts";

const QUIET: CopyOptions = { progress() {}, rowsAtOnce: 2 };

/** A database that keeps the rows of each table, and how far a copy into it is. */
class Memory {
  readonly tables = new Map<string, CopiedValue[][]>();
  readonly progress = new Map<string, TableProgress>();

  constructor(tables: Record<string, CopiedValue[][]> = {}) {
    for (const [name, rows] of Object.entries(tables)) this.tables.set(name, rows);
  }

  count(): number {
    return [...this.tables.values()].reduce((sum, rows) => sum + rows.length, 0);
  }

  *pages({ name }: CopiedTable, after: readonly unknown[] | null, limit: number) {
    const rows = this.tables.get(name) ?? [];
    for (let start = Number(after?.[0] ?? 0); start < rows.length; start += limit) {
      const page = rows.slice(start, start + limit);
      yield { rows: page, after: [start + page.length], replaced: page.flatMap(([value]) => value ?? []) };
    }
  }

  progressOf({ name }: CopiedTable): TableProgress {
    return this.progress.get(name) ?? NOT_BEGUN;
  }

  write({ name }: CopiedTable, rows: readonly CopiedValue[][], progress: TableProgress): void {
    this.tables.set(name, [...(this.tables.get(name) ?? []), ...rows]);
    this.progress.set(name, progress);
  }
}

const rowsOf = (count: number) => Array.from({ length: count }, (_, index): CopiedValue[] => [String(index), null]);
const filled = () => new Memory({ customers: rowsOf(3), events: rowsOf(25), contents: rowsOf(9) });

test("a copy that was interrupted after any page goes on, and ends as one that was not", async () => {
  const source = filled();
  const whole = await copyRows(source, new Memory(), QUIET);
  for (let stopAt = 0; stopAt <= source.count(); stopAt += 1) {
    const target = new Memory();
    const stopping = {
      ...QUIET,
      progress(_: string, done: number) {
        if (done >= stopAt) throw new Error("stopped");
      },
    };
    await assert.rejects(copyRows(source, target, stopping), /stopped/);
    const copied = await copyRows(source, target, QUIET);
    assert.deepEqual(copied, whole);
    await compareRows(copied, target, QUIET);
    for (const [name, rows] of source.tables) assert.deepEqual(target.tables.get(name), rows);
  }
});

test("`progress` gets all rows, copied and then compared, and never goes back", async () => {
  const [source, target] = [filled(), new Memory()];
  const steps: [string, number, number][] = [];
  const options: CopyOptions = { ...QUIET, progress: (...step) => steps.push(step) };
  await compareRows(await copyRows(source, target, options), target, options);
  for (const doing of ["copying", "checking"]) {
    const done = steps.filter(([what]) => what === doing).map(([, rows]) => rows);
    assert.equal(done.at(-1), source.count());
    assert.deepEqual(
      done,
      done.toSorted((a, b) => a - b),
    );
  }
  assert.ok(steps.every(([, , total]) => total === source.count()));
});

test("a copy that lacks a row, has one more, or has another value is refused, and named", async () => {
  const copied = await copyRows(filled(), new Memory(), QUIET);
  const events = rowsOf(25);
  for (const wrong of [
    events.slice(1),
    [...events, ["25", null]],
    events.with(7, ["7", ""]),
    events.with(7, ["8", null]),
  ]) {
    const copy = filled();
    copy.tables.set("events", wrong);
    await assert.rejects(compareRows(copied, copy, QUIET), (error: unknown) => {
      assert.ok(error instanceof CopyDiffers);
      assert.match(error.message, new RegExp(`^The copy of events has ${wrong.length} rows .+ has 25 with `));
      return true;
    });
  }
  const reordered = filled();
  reordered.tables.set("events", events.toReversed());
  await compareRows(copied, reordered, QUIET);
});

test("a table names twenty of the values that PostgreSQL cannot hold", async () => {
  const copied = await copyRows(filled(), new Memory(), QUIET);
  const [events] = [...copied].flatMap(([{ name }, { replaced }]) => (name === "events" ? [replaced] : []));
  assert.deepEqual(
    events,
    Array.from({ length: 20 }, (_, index) => String(index)),
  );
});
