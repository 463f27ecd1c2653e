/** Tests that an end of an attempt which cannot be written harms no other. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeliveryOutcome } from "../../store/due-deliveries.ts";
import { StoreUnavailable } from "../../store/store.ts";
import { OutcomeBatch } from "./outcome-batch.ts";

const SET = {
  status: "succeeded",
  attempts: [],
  attemptCount: 1,
  dueAt: null,
  byHand: false,
  resumeAt: null,
  url: "http://127.0.0.1/",
} as unknown as DeliveryOutcome["set"];

const outcome = (number: number): DeliveryOutcome => ({ id: `dlv_${number}`, row: number, version: 1, set: SET });

/** The ids of each commit, of which one with the second delivery fails. */
function stage(error: Error) {
  const commits: string[][] = [];
  const batch = new OutcomeBatch({
    async finishDeliveries(outcomes) {
      commits.push(outcomes.map(({ id }) => id));
      if (outcomes.some(({ row }) => row === 2)) throw error;
      return outcomes.map(() => ({ result: "ok" as const }));
    },
  });
  const ends = Promise.allSettled([1, 2, 3].map((number) => batch.finish(outcome(number))));
  return { commits, ends };
}

test("the ends of attempts of one turn are committed together, and one by one if that fails", async () => {
  const { commits, ends } = stage(new Error("this row cannot be written"));
  assert.deepEqual(
    (await ends).map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
  assert.deepEqual(commits, [["dlv_1", "dlv_2", "dlv_3"], ["dlv_1"], ["dlv_2"], ["dlv_3"]]);
});

test("while the database is out of reach they are not tried one by one", async () => {
  const { commits, ends } = stage(new StoreUnavailable("the server is gone"));
  assert.deepEqual(
    (await ends).map(({ status }) => status),
    ["rejected", "rejected", "rejected"],
  );
  assert.equal(commits.length, 1);
});
