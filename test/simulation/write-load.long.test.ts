import assert from "node:assert/strict";
import { test } from "node:test";
import { type MessageCost, measureMessageCost } from "./write-load.ts";

/** Most writes that one message may cost the store, as measured, and the goal for messages to many recipients. */
const LIMITS: Readonly<Record<"many" | "one", MessageCost>> = {
  many: { transactions: 4.1, commits: 0.09, walFrames: 6.6, statements: 22.1, rows: 17, btreeWrites: 48 },
  one: { transactions: 4.1, commits: 0.09, walFrames: 5.4, statements: 20.2, rows: 16.1, btreeWrites: 45.1 },
};
const GOALS: Partial<MessageCost> = { transactions: 3.3, commits: 0.08, walFrames: 5.5 };

const measured = { many: measureMessageCost("many"), one: measureMessageCost("one") };

const NAMES = Object.keys(LIMITS.many) as (keyof MessageCost)[];

for (const recipients of ["many", "one"] as const) {
  const whom = recipients === "many" ? "many recipients" : "one recipient";
  test(`a message with three webhooks, in a load to ${whom}, costs the store no more than the recorded limits`, async () => {
    const cost = await measured[recipients];
    const above = NAMES.filter((name) => cost[name] > LIMITS[recipients][name]);
    assert.deepEqual(above, [], tableOf(cost, LIMITS[recipients]));
  });
}

test("the scripted load costs the store the same each time", async () => {
  assert.deepEqual(await measureMessageCost("many"), await measured.many);
});

/** The counts per message beside their limits and goals. */
function tableOf(cost: MessageCost, limits: MessageCost): string {
  const lines = NAMES.map((name) => {
    const goal = GOALS[name];
    return `${name}: ${cost[name].toFixed(3)}, limit ${limits[name]}${goal === undefined ? "" : `, goal ${goal}`}`;
  });
  return ["what a message costs the store:", ...lines].join("\n");
}
