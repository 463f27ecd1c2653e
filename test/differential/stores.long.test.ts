/**
 * SQLite and PostgreSQL answer the same random steps in the same way and end with the same rows. `TB_DIFFERENTIAL_STEPS` sets how many
 * steps run, `TB_DIFFERENTIAL_SEED` which ones.
 */

import { type TestContext, test } from "node:test";
import { openPostgres } from "../../server/store/postgres/store.ts";
import { openSqliteInProcess } from "../../server/store/sqlite/store.ts";
import { postgresForFile } from "../support/postgres.ts";
import { runStep } from "./steps.ts";
import { World } from "./world.ts";

const STEPS = Number(process.env.TB_DIFFERENTIAL_STEPS ?? 15_000);
/** The same steps in every run, unless another seed is named: a difference that one finds is then found again. */
const SEED = Number(process.env.TB_DIFFERENTIAL_SEED ?? 20_261_123);
/** Pairs of databases at once, each with steps of its own: while one waits for a reply, the others work. */
const STREAMS = Number(process.env.TB_DIFFERENTIAL_STREAMS ?? 4);
/** Steps of a stream between two comparisons of all tables. */
const COMPARED_EVERY = 250;

const postgres = postgresForFile(["fsync=off", "autovacuum=off"]);

test(`both databases answer ${STEPS} random steps alike (seed ${SEED})`, { timeout: 3_600_000 }, async (t) => {
  const began = performance.now();
  const streams = Array.from({ length: STREAMS }, (_, index) => runStream(t, SEED + index, Math.ceil(STEPS / STREAMS)));
  await Promise.all(streams);
  t.diagnostic(`${STEPS} steps in ${Math.round((performance.now() - began) / 1_000)} s`);
});

/** Runs steps on two databases that have nothing in common with those of other streams. */
async function runStream(t: TestContext, seed: number, steps: number): Promise<void> {
  const { url, drop } = await postgres.create();
  const stores = [await openSqliteInProcess(), await openPostgres(url, "member_1")] as const;
  t.after(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await drop();
  });
  const world = new World(stores, seed);
  for (let count = 0; count < 3; count += 1) {
    const customer = world.maker.customer();
    await world.commit([[{ op: "insert", table: "customers", record: customer }]], false);
    world.customers.push(customer);
    const endpoint = world.maker.endpoint(customer);
    await world.commit([[{ op: "insert", table: "endpoints", record: endpoint }]], false);
    world.endpoints.push(endpoint);
  }
  while (world.steps < steps) {
    await runStep(world);
    if (world.steps % COMPARED_EVERY === 0) await world.compareTables();
  }
  await world.compareTables();
}
