import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig } from "../../server/config.ts";
import type { Call } from "./client.ts";
import { judge } from "./oracle.ts";
import type { Observed } from "./world.ts";

/** A run in which one edit got the answer of an instance that does not run. */
function runWith(stops: Observed["stops"]): Observed {
  const error = {
    code: "SERVICE_UNAVAILABLE",
    message: "The instance of this number is not running; try again later.",
  };
  const edit: Call = {
    order: 10,
    endedOrder: 13,
    at: 0,
    method: "PUT",
    path: "/v1/messages/msg_1",
    customer: "first",
    body: { text: "Edited" },
    idempotencyKey: null,
    reached: true,
    status: 503,
    answer: { success: false, error },
  };
  return {
    seed: "1",
    kind: "scripted",
    namesMessages: true,
    settings: readConfig({}),
    calls: [edit],
    intents: [],
    customers: [],
    sendings: [],
    queue: { pushed: [], situations: [] },
    carrier: { sendAttempts: [], questions: [], receipts: [], deeds: [] },
    faults: [],
    wasFull: false,
    outages: 0,
    stops,
    lives: 1,
    hasEnded: true,
    rest: new Map(),
  };
}

test("an instance that does not run is no fault if the action arrived before a stop and was answered during it", () => {
  assert.deepEqual(judge(runWith([{ from: 11, to: 20 }])), []);
});

test("an instance that does not run is a fault if the service did not stop meanwhile", () => {
  const rules = [[], [{ from: 2, to: 8 }], [{ from: 14, to: 20 }]].map((stops) =>
    judge(runWith(stops)).map(({ rule }) => rule),
  );
  assert.deepEqual(rules, Array(3).fill(["no response is a fault"]));
});
