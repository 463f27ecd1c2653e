/** SQLite and PostgreSQL with the same random rows answer every read alike, errors and rows that cannot be decoded included. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Kysely } from "kysely";
import { postgresForFile } from "../../../test/support/postgres.ts";
import { argumentsOf, RANDOM_READS } from "../../../test/support/random-reads.ts";
import {
  addPartitions,
  drawing,
  putIntoPostgres,
  putIntoSqlite,
  randomRows,
} from "../../../test/support/random-rows.ts";
import { runsOf } from "../../../test/support/runs.ts";
import { READS } from "../../../test/support/store-reads.ts";
import { UNORDERED } from "../../../test/support/unordered-reads.ts";
import { reportUnreadable } from "../quarantine.ts";
import type { Database } from "../rows.ts";
import { openWriter } from "../sqlite/connection.ts";
import * as sqlite from "../sqlite/driver.ts";
import { makeTables as makeSqliteTables } from "../sqlite/make-tables.ts";
import { createReader } from "../sqlite/query.ts";
import * as postgres from "./driver.ts";
import { makeTables } from "./make-tables.ts";
import { createPool } from "./pool.ts";

/** Calls of each read for the rows of a seed. */
const CALLS = 6;
/** Seeds that once told the databases apart. */
const TOLD_APART: [seed: number][] = [[-1_109_631_442], [-1_857_012_090]];

const databases = postgresForFile(["fsync=off"]);

test("every read of the store has a line among the random ones", () => {
  assert.deepEqual(Object.keys(RANDOM_READS).toSorted(), Object.keys(READS).toSorted());
});

test("SQLite and PostgreSQL answer every read alike, with any rows and arguments", async () => {
  const { url, drop } = await databases.create();
  const pool = createPool(url, 1);
  try {
    await makeTables(pool);
    await addPartitions(pool);
    const onPostgres = watched(
      postgres.queryDatabase(async (query) => (await pool.query(query.sql, query.parameters)).rows),
    );
    const property = fc.asyncProperty(fc.integer(), async (seed) => {
      const rows = randomRows(seed);
      await putIntoPostgres(pool, rows);
      const database = openWriter(":memory:");
      makeSqliteTables(database);
      putIntoSqlite(database, rows);
      const read = createReader(database);
      const onSqlite = watched(sqlite.queryDatabase(async (query) => read(query)));
      for (const name of Object.keys(RANDOM_READS)) {
        for (let call = 0; call < CALLS; call += 1) {
          const ask = async ({ db, unreadable }: Watched) => {
            unreadable.clear();
            const any = argumentsOf(drawing(seed + call), rows);
            const answer = await answerOf(name, () => RANDOM_READS[name]?.(db, any));
            return { answer, unreadable: [...unreadable].toSorted() };
          };
          assert.deepEqual(await ask(onPostgres), await ask(onSqlite), `${name}, call ${call}`);
        }
      }
      database.close();
    });
    await fc.assert(property, { numRuns: runsOf(60, 2) + TOLD_APART.length, examples: TOLD_APART, endOnFailure: true });
  } finally {
    await pool.end();
    await drop();
  }
});

interface Watched {
  db: Kysely<Database>;
  /** Rows that a read reported as undecodable. */
  unreadable: Set<string>;
}

function watched(db: Kysely<Database>): Watched {
  const unreadable = new Set<string>();
  reportUnreadable(db, (row) => void unreadable.add(JSON.stringify(row)));
  return { db, unreadable };
}

async function answerOf(name: string, ask: () => Promise<unknown> | undefined): Promise<unknown> {
  try {
    // SQLite brings rows without a prototype.
    return plain(structuredClone(await ask()), UNORDERED.has(name));
  } catch (error) {
    return { error: (error as Error).message };
  }
}

/** The answer with lists instead of sets and maps, and without an order if it has none. */
function plain(answer: unknown, isUnordered: boolean): unknown {
  if (answer instanceof Map || answer instanceof Set) return sorted([...answer]);
  if (!isUnordered) return answer;
  if (Array.isArray(answer)) return sorted(answer);
  const lists = Object.entries(answer ?? {}).map(([name, value]) => [
    name,
    Array.isArray(value) ? sorted(value) : value,
  ]);
  return Object.fromEntries(lists);
}

function sorted(list: readonly unknown[]): unknown[] {
  return list.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
}
