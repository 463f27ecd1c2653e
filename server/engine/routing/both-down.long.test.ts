/**
 * Instances that report only with each send attempt that they are down: waiting messages do not move back and forth.
 */

import assert from "node:assert/strict";
import { type TestContext as NodeTest, test } from "node:test";
import { type Carrier, carriersOn, handedTo, SMS_ONLY } from "../../../test/support/carriers.ts";
import { checkSendAttempts, type EngineStage } from "../../../test/support/engine.ts";
import { ScriptedProvider } from "../../../test/support/provider.ts";
import type { MessageId } from "../../core/id.ts";
import type { Outcome } from "../../providers/provider.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
/** After a start nothing goes elsewhere for so long. */
const CONNECTING_MS = 5_000;
/** Time after which an attempt reports that the instance is down; until then it seems up. */
const ANSWER_MS = 3 * SECOND_MS;
/** The wait that each of the two asks for, so that their breakers are open at different times. */
const REST_MS = [20 * SECOND_MS, 50 * SECOND_MS] as const;
const GIF = Buffer.from("GIF89a\0\0");
const to = (index: number) => `+1555010${String(index).padStart(4, "0")}`;

/** Says of each send attempt, after a while, that it is down, and for how long it wishes to be left alone. */
function isDownByItsWord({ clock }: EngineStage, { provider }: Carrier, retryAfterMs: number): void {
  const down: Outcome = { outcome: "deferred", retryAfterMs, reason: "the line is down", isDown: true };
  provider.onSend = () => new Promise((resolve) => void clock.after(ANSWER_MS, () => resolve(down)));
}

/** Two carriers of one route, both down, and `count` messages that wait for either; both were just tried. */
async function bothDown(t: NodeTest, count: number) {
  const carriers = await carriersOn(t);
  const { stage } = carriers;
  const make = () => carriers.add(new ScriptedProvider({ channels: ["sms"], concurrency: 8 }));
  const [a, b] = [await make(), await make()];
  await carriers.setRoutes([a, b].map(({ id }) => ({ prefix: "+1", instanceId: id })));
  await stage.clock.advance(CONNECTING_MS);
  for (const [index, carrier] of [a, b].entries()) isDownByItsWord(stage, carrier, REST_MS[index] ?? 0);
  const ids: MessageId[] = [];
  for (let index = 0; index < count; index += 1) ids.push(await stage.send({ ...SMS_ONLY, to: to(index) }));
  await stage.clock.advance(10 * SECOND_MS);
  assert.ok(a.provider.handed.length > 0 && b.provider.handed.length > 0, "both were tried");
  return { ...carriers, a, b, ids };
}

test("only the probe of an instance that is down fetches its files, not the messages that wait", async (t) => {
  let fetched = 0;
  const fetch = async () => {
    fetched += 1;
    return { bytes: GIF, release() {} };
  };
  const { stage, add, setRoutes } = await carriersOn(t, {
    deps: { fetcher: { fetch, hold: () => () => {} } },
  });
  const carrier = await add(new ScriptedProvider({ channels: ["sms"], concurrency: 8 }), "twilio");
  await setRoutes([{ prefix: "+1", instanceId: carrier.id }]);
  isDownByItsWord(stage, carrier, 20 * SECOND_MS);
  const content = { mediaUrls: ["https://example.com/a.gif"] };
  for (let index = 0; index < 50; index += 1) await stage.send({ ...SMS_ONLY, to: to(index), content });
  await stage.clock.advance(MINUTE_MS);
  fetched = 0;
  const { commits } = stage.life;
  await stage.clock.advance(4 * MINUTE_MS);
  assert.ok(fetched >= 8 && fetched <= 16, `fetched ${fetched} times in four minutes`);
  assert.ok(stage.life.commits - commits <= 3 * fetched, `${stage.life.commits - commits} commits`);
  comesUp(carrier);
  await stage.clock.advance(MINUTE_MS);
  assert.equal(new Set(handedTo(carrier)).size, 50);
});

/** Takes everything from now on. */
function comesUp({ provider }: Carrier): void {
  provider.handed.length = 0;
  provider.onSend = () => provider.accepted();
}

test("while two instances are down, 250 waiting messages cost no write between probes, and a few at each probe", async (t) => {
  const { stage, a, b } = await bothDown(t, 250);
  const { life } = stage;
  const before = { writes: life.writes, commits: life.commits };
  await stage.clock.advance(10 * SECOND_MS);
  assert.deepEqual({ writes: life.writes, commits: life.commits }, before, "while both rest");
  a.provider.handed.length = 0;
  b.provider.handed.length = 0;
  for (let minutes = 0; minutes < 4; minutes += 1) await stage.clock.advance(MINUTE_MS);
  const tried = a.provider.handed.length + b.provider.handed.length;
  assert.ok(tried >= 8 && tried <= 24, `${tried} send attempts in four minutes`);
  const commits = life.commits - before.commits;
  assert.ok(commits <= 3 * tried, `${commits} commits for ${tried} send attempts: each moves, begins and ends`);
});

for (const up of ["first", "second"] as const) {
  test(`when the ${up} instance is up again, it sends all waiting messages within minutes, each once`, async (t) => {
    const { stage, a, b, ids } = await bothDown(t, 100);
    const carrier = up === "first" ? a : b;
    comesUp(carrier);
    await stage.clock.advance(3 * MINUTE_MS);
    assert.deepEqual(handedTo(carrier).toSorted(), ids);
    for (const id of ids) {
      const message = await stage.message(id);
      assert.equal(message.status, "sent");
      checkSendAttempts(message, [...a.provider.handed, ...b.provider.handed]);
    }
  });
}

test("a probe that hangs does not block the others: when it ends, another message is the probe", async (t) => {
  const { stage, a, b } = await bothDown(t, 4);
  a.provider.onSend = () => "never";
  b.provider.onSend = () => "never";
  await stage.clock.advance(5 * MINUTE_MS);
  comesUp(a);
  comesUp(b);
  await stage.clock.advance(5 * MINUTE_MS);
  const waiting = await stage.deps.store.db
    .selectFrom("messages")
    .select("id")
    .where("status", "=", "queued")
    .execute();
  assert.deepEqual(waiting, []);
});
