/** Races: things that are begun at once, in as many orders as rounds, on the simulated clock with the real store. */

import assert from "node:assert/strict";
import type { TestContext as NodeTest } from "node:test";
import { ApiError } from "../../server/core/error.ts";
import { type EngineStage, engineStage, type StageOptions, seeded, turns } from "./engine.ts";

const ROUNDS = 1_000;
/** Most turns of the event loop by which a write is delayed. */
const WRITE_DELAY_MAX = 3;
/** Default for the most turns by which the start of an action is delayed. */
const START_DELAY_MAX = 8;

/** The result of an action: its value, or the code of its refusal. */
export type Ended<Value> = { value: Value } | { refused: string };

/** One round: a stage that all rounds share, and an address that no other round has. */
export interface Round {
  stage: EngineStage;
  index: number;
  contact: string;
  /** Starts all actions, each after a random delay, and waits for them and for the work that follows. */
  atOnce<Value>(...actions: (() => Promise<Value>)[]): Promise<Ended<Value>[]>;
  /** Runs due work until none is left. */
  quiet(): Promise<void>;
}

/** How a race is run. */
export interface RaceOptions extends StageOptions {
  startDelayMax?: number;
  rounds?: number;
}

/**
 * Runs `round` a thousand times and counts what it answers, the end that it came to. Fails for an end that is not among
 * `ends`, and where one of them came about in fewer than one of a hundred rounds: then nothing raced.
 */
export async function race(
  t: NodeTest,
  ends: readonly string[],
  round: (round: Round) => Promise<string>,
  { startDelayMax = START_DELAY_MAX, rounds = ROUNDS, ...options }: RaceOptions = {},
): Promise<EngineStage> {
  const stage = await engineStage(t, options);
  const draw = seeded(Number(process.env.TB_RACE_SEED ?? 1));
  const found = new Map<string, number>();
  stage.life.delay = () => draw(WRITE_DELAY_MAX + 1);
  const atOnce: Round["atOnce"] = async (...actions) => {
    stage.life.dispatch.lanes.wake([stage.instance.id]);
    const answers = await Promise.all(
      actions.map(async (action) => {
        await turns(draw(startDelayMax + 1));
        return ended(action());
      }),
    );
    await quiet(stage);
    return answers;
  };
  for (let index = 0; index < rounds; index += 1) {
    const end = await round({ stage, index, contact: `+1555${2_000_000 + index}`, atOnce, quiet: () => quiet(stage) });
    found.set(end, (found.get(end) ?? 0) + 1);
  }
  t.diagnostic(JSON.stringify(Object.fromEntries(found)));
  assert.deepEqual(
    [...found.keys()].filter((end) => !ends.includes(end)),
    [],
  );
  for (const end of ends) assert.ok((found.get(end) ?? 0) >= rounds / 100, `${end} came about too seldom`);
  return stage;
}

/** How often a stage is let run before something is due for ever. */
const RUNS_MAX = 100;

/** Runs due work until none is left and nothing is leased. Delayed writes take several runs. */
async function quiet(stage: EngineStage): Promise<void> {
  const { store, clock } = stage.deps;
  for (let run = 0; run < RUNS_MAX; run += 1) {
    await stage.run();
    const busy = await store.db
      .selectFrom("messages")
      .select("id")
      .where((is) => is.or([is("claimed_until", "is not", null), is("due_at", "<=", clock.now())]))
      .executeTakeFirst();
    if (busy === undefined) return;
  }
  assert.fail("something stays due");
}

/** The result of the action; throws every error that is no refusal. */
function ended<Value>(action: Promise<Value>): Promise<Ended<Value>> {
  return action.then(
    (value) => ({ value }),
    (error: unknown) => {
      if (error instanceof ApiError) return { refused: error.code };
      throw error;
    },
  );
}
