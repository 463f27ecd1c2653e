import assert from "node:assert/strict";
import { test } from "node:test";
import type { TimelineEntry } from "../../sdk/wire.ts";
import { judge } from "./oracle.ts";
import type { PushedDelivery } from "./queue-watch.ts";
import { WRONGS } from "./sabotage.ts";
import type { Rule } from "./story.ts";
import { hashOf, type Observed, type Sabotage, simulate } from "./world.ts";
import { brokenWorlds, firstSeeds, seedsOf } from "./worlds.ts";

/** Enough runs for every possible situation to occur. */
const SEEDS_DEFAULT = 60;

const SEEDS = seedsOf(SEEDS_DEFAULT);

/**
 * Most runs until the oracle must notice a sabotage. Usually the first few runs are enough, and the rest are skipped.
 */
const SABOTAGE_SEEDS = firstSeeds(40);

/** A run takes less than a second; the limit allows for a busy machine. */
const TIMEOUT = Math.max(600_000, SEEDS.length * 5_000);

/** Counts everything that happened in all runs, so that an uneventful simulation does not pass. */
const seen = new Map<string, number>();

function note(run: Observed): void {
  const happened = [
    ...run.carrier.sendAttempts.map(({ outcome }) => `attempt ${outcome?.outcome ?? "cut off"}`),
    ...(run.outages > 0 ? ["outage"] : []),
    ...[...run.rest.values()].flatMap(({ messages }) => messages.flatMap(({ timeline }) => timeline.flatMap(routed))),
    ...run.carrier.questions.map(({ answer }) => `asked ${typeof answer === "string" ? answer : answer?.outcome}`),
    ...[...run.rest.values()].flatMap(({ events, deliveries }) => [
      ...events.map(({ type, data }) => `${type} ${data.errorCode ?? data.reason ?? ""}`.trim()),
      ...deliveries.map(({ status }) => `delivery ${status}`),
    ]),
    ...run.sendings.map(({ posted }) => `sending ${posted === null ? "cut off" : (posted.error ?? "answered")}`),
    ...run.calls.map(({ status, reached }) => (status === null && reached ? "call cut off" : `call ${status}`)),
    ...run.calls.flatMap(({ answer }) => (answer?.error === undefined ? [] : [`call ${answer.error.code}`])),
    ...run.carrier.deeds.map(({ signal }) => `reported ${signal.kind}`),
    ...(run.lives > 1 ? ["death"] : []),
    ...run.queue.situations,
    ...(run.queue.pushed.some((pushed) => diedBeforePost(run, pushed)) ? ["a death between push and post"] : []),
    ...(run.wasFull ? ["full disk"] : []),
    `carrier ${run.kind}`,
  ];
  for (const what of happened) seen.set(what, (seen.get(what) ?? 0) + 1);
}

/** Whether a new delivery went to the loop, and its process died before it was posted. */
function diedBeforePost({ lives, sendings }: Observed, { life, eventId, url }: PushedDelivery): boolean {
  if (life === lives) return false;
  return !sendings.some((one) => one.life === life && one.url === url && JSON.parse(one.body).id === eventId);
}

/** Routing decisions named by the reason of a timeline entry. */
function routed({ reason = "" }: TimelineEntry): string[] {
  const [, word = ""] = /^(moved|failover|fallback): /.exec(reason) ?? [];
  return [...(word === "" ? [] : [word]), ...(reason.includes("(route ") ? ["route"] : [])];
}

const SOMETIMES = [
  ...["outage", "route", "moved", "failover", "fallback"],
  ...["accepted", "rejected", "deferred", "unknown", "threw", "cut off"].map((name) => `attempt ${name}`),
  ...["absent", "accepted", "unknown"].map((name) => `asked ${name}`),
  ...["queued", "scheduled", "schedule_cancelled", "sent", "delivered", "read", "deleted"].map(
    (name) => `message.${name}`,
  ),
  ...["NOT_REACHABLE", "REJECTED", "NO_DELIVERY"].map((reason) => `message.fallback ${reason}`),
  ...["REJECTED", "NO_CHANNEL_AVAILABLE", "EXPIRED", "OUTCOME_UNKNOWN"].map((code) => `message.failed ${code}`),
  ...["IMESSAGE_SEND_FAILED", "SMS_SEND_FAILED"].map((code) => `message.failed ${code}`),
  ...["succeeded", "exhausted", "cancelled"].map((status) => `delivery ${status}`),
  ...["answered", "TIMEOUT", "CONNECTION_RESET", "CONNECTION_REFUSED", "STOPPED", "cut off"].map(
    (end) => `sending ${end}`,
  ),
  ...["call cut off", "call 200", "call 202", "call 400", "call 503", "death", "full disk"],
  ...["a death between push and post", "a lane fell behind and caught up", "a delivery was due before the cursor"],
  ...["carrier scripted", "carrier sandbox", "webhook.test", "typing.indicator"],
  ...[
    "inbound",
    "reaction",
    "edited",
    "edit_failed the phone does not want to",
    "unsent",
    "failed RECIPIENT_OPTED_OUT",
  ].map((name) => `message.${name}`),
  ...["created", "paid", "expired", "cancelled CANCELLED_BY_CALLER", "cancelled MESSAGE_FAILED"].map(
    (name) => `payment.request.${name}`,
  ),
  ...["EDIT_FAILED", "PROVIDER_ERROR", "PROVIDER_TIMEOUT"].map((code) => `call ${code}`),
  ...["inbound", "reaction", "revision"].map((kind) => `reported ${kind}`),
];

test(`every promise holds in ${SEEDS.length} simulated worlds of crashes, faults and bad habits`, {
  timeout: TIMEOUT,
}, async () => {
  assert.deepEqual(await brokenWorlds(SEEDS, note), []);
});

test("every situation that the promises cover occurred in those worlds", (t) => {
  if (SEEDS.length < SEEDS_DEFAULT) return t.skip(`fewer than ${SEEDS_DEFAULT} seeds have not seen everything`);
  assert.deepEqual(
    SOMETIMES.filter((what) => !seen.has(what)),
    [],
  );
});

test("the same seed gives the same run, to the last byte observed", { timeout: TIMEOUT }, async () => {
  for (const seed of firstSeeds(5)) {
    const [first, second] = [hashOf(await simulate(seed)), hashOf(await simulate(seed))];
    assert.equal(first, second, `seed ${seed}`);
  }
});

for (const { name, rule, sabotage } of WRONGS) {
  test(`the oracle notices ${name}`, { timeout: TIMEOUT }, async () => {
    for (const seed of SABOTAGE_SEEDS) if (await isNoticed(seed, sabotage(), rule)) return;
    assert.fail(`in ${SABOTAGE_SEEDS.length} runs nobody complained of "${rule}"`);
  });
}

async function isNoticed(seed: string, sabotage: Sabotage, rule: Rule): Promise<boolean> {
  return judge(await simulate(seed, sabotage)).some((violation) => violation.rule === rule);
}
