/** Tests that a claim of messages reads a bounded number of pages, however many messages wait, with and without statistics. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import pg from "pg";
import { LEASE_MS, NOW, Stage } from "../../../test/conformance/store-stage.ts";
import { preparedPostgresForFile } from "../../../test/support/service-database.ts";
import { PASSED_MAX, STEPS_MAX, WALK_BEGINS } from "../claim-walk.ts";
import { LAYOUT } from "../rows.ts";
import { type ClaimStatements, claimBehind, claimFront } from "./claim-messages.ts";
import type { ClaimTerms } from "./claim-terms.ts";
import { createPool } from "./pool.ts";
import type { SqlParameter } from "./sql.ts";
import { openPostgres } from "./store.ts";

const postgres = preparedPostgresForFile();

const TERMS: ClaimTerms = { now: NOW, leaseMs: LEASE_MS, waiting: [], owner: "member_1", firstLease: 1, leased: null };
const HOT = "+15005550001";

interface Deps {
  stage: Stage;
  pool: pg.Pool;
  /** Adds due messages to the queue, or timers; `to` and `dueAt` are SQL, with the number of the message in `i`. */
  add(count: number, to: string, dueAt: string, isQueued?: 0 | 1): Promise<void>;
  /** The pages that the statements of a claim read, planned for this claim or for any, whichever are more. Its leases are rolled back. */
  pagesRead(statements: ClaimStatements): Promise<number>;
}

function literal(value: SqlParameter): string {
  if (value instanceof Uint8Array) throw new Error("a claim has no bytes");
  if (value === null || typeof value === "number") return String(value);
  if (typeof value === "string") return pg.escapeLiteral(value);
  return `array[${value.map((one) => literal(one ?? null)).join(", ")}]::text[]`;
}

async function open(t: TestContext): Promise<Deps> {
  const { url, drop } = await postgres.create();
  const store = await openPostgres(url, "member_1");
  const pool = createPool(url, 1);
  t.after(async () => {
    await Promise.all([store.close(), pool.end()]);
    await drop();
  });
  const stage = new Stage(store);
  const template = await stage.addMessage(await stage.addCustomer());
  let added = 0;
  const add = async (count: number, to: string, dueAt: string, isQueued = 1) => {
    const id = `'msg_' || lpad((${added} + i)::text, 26, '0')`;
    added += count;
    const values: Record<string, string> = { id, to, due_at: dueAt };
    const columns = LAYOUT.messages.map(({ column }) => `"${column}"`).join(", ");
    const selected = LAYOUT.messages.map(({ column }) => values[column] ?? `m."${column}"`).join(", ");
    // The claims of these tests lease the first ones; of the others they read nothing but the row in the queue.
    await pool.query(`insert into messages (${columns}) select ${selected} from messages m, generate_series(1, 100) i
      where m.id = '${template.id}'`);
    await pool.query(`insert into due_messages (id, lane, "from", "to", due_at, is_queued)
      select ${id}, instance_id, "from", ${to}, ${dueAt}, ${isQueued} from messages m, generate_series(1, ${count}) i
      where m.id = '${template.id}'`);
  };
  const pagesWith = async (plan: string, { before, claim }: ClaimStatements) => {
    let pages = 0;
    await pool.query(`begin; set local plan_cache_mode = ${plan}; prepare claim as ${claim.text}`);
    for (const statement of [...before, `execute claim(${claim.parameters.map(literal).join(", ")})`]) {
      if (statement.startsWith("set ")) continue;
      const { rows } = await pool.query<{ "QUERY PLAN": [{ Plan: Record<string, number> }] }>(
        `explain (analyze, buffers, format json) ${statement}`,
      );
      const plan = rows[0]?.["QUERY PLAN"][0].Plan ?? {};
      pages += (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
    }
    await pool.query("rollback; deallocate claim");
    return pages;
  };
  const pagesRead = async (statements: ClaimStatements) => {
    const once = await pagesWith("force_custom_plan", statements);
    return Math.max(once, await pagesWith("force_generic_plan", statements));
  };
  return { stage, pool, add, pagesRead };
}

/** Checks the pages that claims of 16 messages read. */
async function checkPages(t: TestContext, { stage, pagesRead }: Deps, expected: { front: number; behind: number }) {
  const lane = { lane: stage.instanceId, permits: 16, floor: null };
  const front = await pagesRead(claimFront([lane], TERMS));
  const behind = await pagesRead(claimBehind([{ ...lane, walk: WALK_BEGINS }], TERMS));
  t.diagnostic(`${front} pages at the front, ${behind} behind it`);
  assert.ok(front <= expected.front, `${front} pages at the front`);
  assert.ok(behind <= expected.behind, `${behind} pages behind it`);
}

for (const statistics of [false, true]) {
  const title = statistics ? "with statistics of the tables" : "before the first statistics of the tables";
  test(`${title}, a claim reads few pages of 100,000 messages to one recipient and 10,000 others behind them`, async (t) => {
    const deps = await open(t);
    const { stage, pool, add } = deps;
    await add(100_000, `'${HOT}'`, `${NOW} - 1000000 + i`);
    await add(10_000, `'+1600' || lpad(i::text, 7, '0')`, String(NOW - 1));
    if (statistics) await pool.query("analyze");
    await checkPages(t, deps, { front: 500, behind: 8 * STEPS_MAX });
    const claimed = await stage.claimMessages(stage.instanceId, 16);
    assert.equal(claimed.filter((message) => message.to === HOT).length, 8);
    assert.equal(claimed.length, 16, "recipients behind the others are found");
    await checkPages(t, deps, { front: 500, behind: 8 * STEPS_MAX });
    // Nothing else is due: the walk ends, and no claim follows another without end.
    await pool.query(`update due_messages set due_at = ${NOW + 1} where "to" <> '${HOT}'`);
    let claims = 0;
    for (let more = true; more; claims += 1) {
      const lanes = [{ lane: stage.instanceId, permits: 16 }];
      more = (await stage.store.claimMessages({ lanes, now: NOW, leaseMs: LEASE_MS })).more.length > 0;
    }
    assert.ok(claims <= 50, `${claims} claims`);
  });
}

test("a claim reads as many pages of 100,000 messages to 10,000 recipients as of 1,000", async (t) => {
  const deps = await open(t);
  const { stage, add } = deps;
  await add(100_000, `'+1600' || lpad((i % 10000)::text, 7, '0')`, `${NOW} - 1000000 + i`);
  await checkPages(t, deps, { front: 500, behind: 9 * STEPS_MAX });
  assert.equal((await stage.claimMessages(stage.instanceId, 16)).length, 16);
});

for (const statistics of [false, true]) {
  const title = statistics ? "with statistics of the tables" : "before the first statistics of the tables";
  test(`${title}, a claim reads few pages of 100,000 timers of a busy recipient and 10,000 messages`, async (t) => {
    const deps = await open(t);
    const { stage, pool, add } = deps;
    await add(10_000, `'+1600' || lpad(i::text, 7, '0')`, String(NOW + 1));
    await add(100_000, `'${HOT}'`, `${NOW} - 1000000 + i`, 0);
    await pool.query(`update due_messages set lease = 1, owner = 'another', leased_until = 'infinity'
      where id = (select min(id) from due_messages where "to" = '${HOT}')`);
    if (statistics) await pool.query("analyze");
    await checkPages(t, deps, { front: 500, behind: 8 * STEPS_MAX });
    const timers = { last: [NOW - 500_000, ""] as const, left: 2 };
    const walk = { ...WALK_BEGINS, timers, passed: Array.from({ length: PASSED_MAX }, (_, index) => `+1 +${index}`) };
    const behind = await deps.pagesRead(
      claimBehind([{ lane: stage.instanceId, permits: 16, walk, floor: null }], TERMS),
    );
    t.diagnostic(`${behind} pages from a place in the middle`);
    assert.ok(behind <= 8 * STEPS_MAX, `${behind} pages from a place in the middle`);
  });
}
