/**
 * Every read on PostgreSQL goes by an index, in its order, and never past the rows of everybody else, on a filled database with
 * statistics. A plan is run and not only read: the rows that a statement touches count.
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type pg from "pg";
import { fillPostgres } from "../../../test/support/filled-postgres.ts";
import {
  createDatabase,
  type PostgresServer,
  startPostgres,
  type TestDatabase,
} from "../../../test/support/postgres.ts";
import { READS } from "../../../test/support/store-reads.ts";
import type { SqlQuery } from "../jobs/queries.ts";
import { queryDatabase } from "./driver.ts";
import { makeTables } from "./make-tables.ts";
import { createPool } from "./pool.ts";

/** All rows of the largest customer, which are fewer than a window, and what is looked up beside them. */
const ROWS_MAX = 3_000;
/** Tables up to this size are read whole, whatever the indexes. */
const SMALL_ROWS_MAX = 1_000;
/** Statements of one read that are tried, if it has more. */
const STATEMENTS_MAX = 100;

/** Reads that go on where rows of one customer are few among very many, as the API lists them. */
const LISTS = [
  "calls.listCalls",
  "chats.listChats",
  "contacts.contactList",
  "deliveries.listDeliveries",
  "events.listEvents",
  "events.newestPosition",
  "events.pageOfEvents",
  "message-lists.listMessages",
  "message-lists.listMessagesOfChat",
  "message-lists.listScheduled",
  "opt-outs.listOptOuts",
  "payments.listPayments",
];
const LEASED = "the leased rows of a queue are few";
/** Reads that go through an index or a table from one end, and why they may. */
const EXCEPTIONS: Record<string, string> = {
  "erasures.listOpenErasures": "the index has those alone, in this order, and `limit` of them are read",
  "messages.listAwaitingErasure": "the index has those alone",
  "messages.findLanesWithDueTimers": LEASED,
  "messages.listAttempted": LEASED,
  "messages.listDeferred": LEASED,
  "messages.listInterrupted": LEASED,
  "messages.listMessagesAhead": LEASED,
  "messages.listWaiting": LEASED,
  "sessions.listSessions": "in the order of its index; links and ended sessions among them are removed within a minute",
  "quarantine.countQuarantined": "it reads the first and the last row of the index, and counts 1,000 rows",
  "requests.countRequests": "once a minute, by one process: the log has 50,000 requests",
  "requests.groupErrors": "a statement groups 5,000 errors, and the log has 50,000 requests",
  "quarantine.listQuarantined": "in the order of its index and without a filter: it reads `limit` rows",
};

/** A node of a plan as `explain (format json)` has it. */
interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Index Cond"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  "Shared Hit Blocks"?: number;
  Plans?: PlanNode[];
}

let server: PostgresServer;
let database: TestDatabase;
let pool: pg.Pool;
/** Rows of each table. */
let sizes: Map<string, number>;

before(async () => {
  // Pages cost what they cost on a disk without heads: otherwise the planner reads small tables whole that would not be small.
  server = await startPostgres(["fsync=off", "autovacuum=off", "random_page_cost=1.1"]);
  database = await createDatabase(server);
  pool = createPool(database.url, 1);
  await makeTables(pool);
  await fillPostgres(pool);
  const { rows } = await pool.query<{ name: string; rows: number }>(
    "select relname as name, reltuples::bigint as rows from pg_class where relkind = 'r'",
  );
  sizes = new Map(rows.map((row) => [row.name, row.rows]));
});
after(async () => {
  await pool.end();
  await server.stop();
});

test("no read touches more rows than a window has, or reads a growing table without an index", async () => {
  const bad: string[] = [];
  for (const [name, ask] of Object.entries(READS)) {
    for (const query of await queriesOf(ask)) {
      const { touched, whole } = await measure(query);
      if (touched <= ROWS_MAX && whole.length === 0) continue;
      if (!(name in EXCEPTIONS)) bad.push(describe(name, query, touched, whole));
    }
  }
  assert.deepEqual(bad, []);
  // Whether an exception is needed depends on the version of the server.
  for (const name of Object.keys(EXCEPTIONS)) assert.ok(name in READS, name);
});

test("no window of a list touches more rows where pages cost what they do on a disk with heads", async () => {
  const bad: string[] = [];
  await pool.query("set random_page_cost = 4; set enable_seqscan = off");
  try {
    for (const name of LISTS) {
      for (const query of await queriesOf(READS[name] ?? assert.fail(name))) {
        const { touched } = await measure(query);
        if (touched > ROWS_MAX) bad.push(describe(name, query, touched, []));
      }
    }
  } finally {
    await pool.query("reset all");
  }
  assert.deepEqual(bad, []);
});

/** The rows that a statement touches, and the tables that it reads without an index. */
async function measure({ sql, parameters }: SqlQuery): Promise<{ touched: number; whole: string[] }> {
  const { rows } = await pool.query(`explain (analyze, timing off, summary off, format json) ${sql}`, parameters);
  const nodes = nodesOf(rows[0]["QUERY PLAN"][0].Plan);
  const touched = nodes.reduce((sum, node) => sum + touchedBy(node), 0);
  return { touched, whole: nodes.filter(isWhole).map((node) => node["Relation Name"] ?? "") };
}

function describe(name: string, { sql, parameters }: SqlQuery, touched: number, whole: readonly string[]): string {
  return `${name}: ${touched} rows, without an index: ${whole}\n  ${sql}\n  ${parameters}`;
}

/** The different statements of a read, with parameters, as they run on the filled database. */
async function queriesOf(ask: (typeof READS)[string]): Promise<SqlQuery[]> {
  const queries = new Map<string, SqlQuery>();
  const db = queryDatabase(async (query) => {
    queries.set(query.sql, query);
    return (await pool.query(query.sql, query.parameters)).rows;
  });
  await ask(db);
  const step = Math.ceil(queries.size / STATEMENTS_MAX);
  return [...queries.values()].filter((_, index) => index % step === 0);
}

function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** Rows of a table or index that a node read. */
function touchedBy(node: PlanNode): number {
  if (!/Scan/.test(node["Node Type"]) || node["Relation Name"] === undefined) return 0;
  const removed = (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0);
  return (node["Actual Rows"] + removed) * node["Actual Loops"];
}

/** Whether a node reads a table that grows without an index, or an index from its beginning. */
function isWhole(node: PlanNode): boolean {
  const table = node["Relation Name"];
  if (table === undefined || (sizes.get(table) ?? 0) <= SMALL_ROWS_MAX || node["Actual Loops"] === 0) return false;
  return node["Node Type"] === "Seq Scan" || (/^Index/.test(node["Node Type"]) && node["Index Cond"] === undefined);
}
