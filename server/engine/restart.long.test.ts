/** A process dies at any of its writes: the next process finishes its work, and sends nothing twice. */

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { SendMessage } from "../../sdk/wire.ts";
import { checkSendAttempts, type EngineStage, engineStage } from "../../test/support/engine.ts";
import { deferred, NOT_REACHABLE, ScriptedProvider, SETTLE_AFTER_MS, UNKNOWN } from "../../test/support/provider.ts";
import type { MessageId } from "../core/id.ts";
import type { Outbound, Outcome, Signal } from "../providers/provider.ts";
import { apply } from "./apply.ts";

type Side = "before" | "after";

/** The peer: the messages that it accepted from any process, and its pending receipts. */
class Peer {
  readonly taken: Outbound[] = [];
  readonly pending: Signal[] = [];

  takes(message: Outbound): Outcome {
    this.taken.push(message);
    const { messageId, channel } = message;
    const reference = `${messageId} ${channel}`;
    this.pending.push({ kind: "receipt", reference, messageId, channel, receipt: "delivered" });
    return { outcome: "accepted", reference };
  }

  /** The outcome of an attempt, as the peer knows it. */
  knows({ messageId, channel }: Outbound): Outcome | "absent" {
    const found = this.taken.some((one) => one.messageId === messageId && one.channel === channel);
    return found ? { outcome: "accepted", reference: `${messageId} ${channel}` } : "absent";
  }
}

interface Scenario {
  title: string;
  sent?: (stage: EngineStage) => Partial<SendMessage>;
  /** The outcome of the next attempts; accepted unless set. */
  answer?: (message: Outbound, peer: Peer) => Outcome | undefined;
  expectedEvents: string[];
}

const SCENARIOS: Scenario[] = [
  { title: "a message that is delivered", expectedEvents: ["queued", "sent", "delivered"] },
  {
    title: "a message that falls back",
    answer: ({ channel }) => (channel === "imessage" ? NOT_REACHABLE : undefined),
    expectedEvents: ["queued", "fallback", "sent", "delivered"],
  },
  {
    title: "a message that is deferred twice",
    answer: ({ attempt }) => (attempt < 3 ? deferred(1_000) : undefined),
    expectedEvents: ["queued", "sent", "delivered"],
  },
  {
    title: "a message that is scheduled",
    sent: (stage) => ({ scheduledAt: new Date(stage.clock.now() + 2_000).toISOString() }),
    expectedEvents: ["scheduled", "queued", "sent", "delivered"],
  },
  {
    title: "a message whose response got lost",
    answer(message, peer) {
      peer.takes(message);
      return UNKNOWN;
    },
    expectedEvents: ["queued", "sent", "delivered"],
  },
  {
    title: "a message whose first send attempt got lost on its way",
    answer: ({ attempt }) => (attempt === 1 ? UNKNOWN : undefined),
    expectedEvents: ["queued", "sent", "delivered"],
  },
];

/** Seconds of shifted time after which every scenario has ended, reconciling and waiting included. */
const SECONDS = 14;

interface Death {
  write: number;
  side: Side;
}

/** Plays a scenario to its end with at most one death. Returns the writes of the first process, and whether it died. */
async function play(t: TestContext, scenario: Scenario, death: Death | null, provider = new ScriptedProvider()) {
  const peer = new Peer();
  provider.onSend = (message) => scenario.answer?.(message, peer) ?? peer.takes(message);
  provider.onSettle = (message) => peer.knows(message);
  const stage = await engineStage(t, { provider });
  const { life: first } = stage;
  if (death !== null) first.dieAt(death.write, death.side);
  const id = await stage.send(scenario.sent?.(stage));
  for (let second = 0; second < SECONDS; second += 1) {
    await stage.pass(1_000);
    await reportPending(stage, peer);
    if (stage.life.dead) await stage.restart();
  }
  return { stage, id, peer, writes: first.writes, died: first.dead };
}

/** A receipt that was not applied is reported again, as providers must. */
async function reportPending(stage: EngineStage, peer: Peer): Promise<void> {
  for (const signal of [...peer.pending]) {
    let isApplied = false;
    void apply(stage.life.deps, stage.instance.id, signal).then(() => {
      isApplied = true;
    });
    await stage.run();
    if (isApplied) peer.pending.splice(peer.pending.indexOf(signal), 1);
  }
}

function takenOnEach(peer: Peer, id: MessageId): string[] {
  return peer.taken.filter(({ messageId }) => messageId === id).map(({ channel }) => channel);
}

describe("whichever write a process dies at, the next process completes", () => {
  for (const scenario of SCENARIOS) {
    test(`${scenario.title}: it is sent once, and each event is emitted once`, async (t) => {
      // The first write is the acceptance: a message without a response was not promised.
      const { writes } = await play(t, scenario, null);
      let deaths = 0;
      for (let write = 1; write < writes; write += 1) {
        for (const side of ["before", "after"] as const) {
          const { stage, id, peer, died } = await play(t, scenario, { write, side });
          const message = await stage.message(id);
          const at = `${side} write ${write}`;
          assert.deepEqual(await stage.eventTypes(id), scenario.expectedEvents, at);
          assert.equal(message.status, "delivered", at);
          assert.equal(takenOnEach(peer, id).length, 1, at);
          assert.deepEqual([message.dueAt, message.claimedUntil], [null, null], at);
          checkSendAttempts(message, stage.provider.handed);
          if (died) deaths += 1;
        }
      }
      assert.ok(deaths >= 6, `only ${deaths} deaths: the windows were not hit`);
      t.diagnostic(`${deaths} deaths`);
    });
  }
});

/** Windows of one attempt: the state on disk, and the state of the peer. */
const WINDOWS: { title: string; taken: boolean; die: (stage: EngineStage) => void }[] = [
  {
    title: "recorded, and the peer never received it",
    taken: false,
    die(stage) {
      stage.provider.onSend = () => {
        stage.life.die();
        return "never";
      };
    },
  },
  {
    title: "recorded, and accepted by the peer without a response",
    taken: true,
    die(stage) {
      const { onSend } = stage.provider;
      stage.provider.onSend = (message) => {
        void onSend(message);
        stage.life.die();
        return "never";
      };
    },
  },
];

describe("a process that dies during a send attempt", () => {
  for (const { title, taken, die } of WINDOWS) {
    for (const asks of [true, false]) {
      test(`${title}: ${asks ? "the next process reconciles it" : "without reconciliation it is not repeated"}`, async (t) => {
        const peer = new Peer();
        const provider = new ScriptedProvider({ asks });
        provider.onSend = (message) => peer.takes(message);
        provider.onSettle = (message) => peer.knows(message);
        const stage = await engineStage(t, { provider });
        const { onSend } = provider;
        die(stage);
        const id = await stage.send();
        await stage.run();
        assert.equal(stage.life.dead, true);
        provider.onSend = onSend;
        await stage.restart();
        assert.equal((await stage.message(id)).status, "pending", "its outcome is unknown, so it is never queued");
        assert.equal(provider.asked.length, 0, "the peer may still be at it: it gets its time");
        await stage.pass(SETTLE_AFTER_MS);
        assert.equal(stage.observed.unknownOutcomes, 1);
        if (asks) {
          assert.equal((await stage.message(id)).status, "sent");
          assert.equal(provider.handed.length, taken ? 1 : 2);
          assert.equal(peer.taken.length, 1);
        } else {
          for (let round = 0; round < 25; round += 1) await stage.pass(15_000);
          assert.equal((await stage.message(id)).errorCode, "OUTCOME_UNKNOWN");
          assert.equal(provider.handed.length, 1);
          await reportPending(stage, peer);
          assert.equal((await stage.message(id)).status, taken ? "delivered" : "failed");
        }
        checkSendAttempts(await stage.message(id), provider.handed);
      });
    }
  }

  test("sends the message once, even if each next process dies while it reconciles", async (t) => {
    const peer = new Peer();
    const stage = await engineStage(t);
    stage.provider.onSettle = (message) => peer.knows(message);
    stage.provider.onSend = (message) => {
      peer.takes(message);
      stage.life.die();
      return "never";
    };
    const id = await stage.send();
    await stage.run();
    for (let death = 0; death < 5; death += 1) {
      await stage.restart();
      stage.provider.settleNext.push("never");
      await stage.pass(SETTLE_AFTER_MS);
      stage.life.die();
    }
    await stage.restart();
    await stage.pass(SETTLE_AFTER_MS);
    assert.equal((await stage.message(id)).status, "sent");
    assert.equal(stage.provider.handed.length, 1);
  });
});

/**
 * Messages to one recipient that are due at the same moment, so that one claim leases them all; the first is being
 * sent.
 */
async function leasedTogether(stage: EngineStage, texts: readonly string[]): Promise<MessageId[]> {
  const scheduledAt = new Date(stage.clock.now() + 1_000).toISOString();
  const ids: MessageId[] = [];
  for (const text of texts) ids.push(await stage.send({ content: { text }, scheduledAt }));
  await stage.pass(1_000);
  const claim = { lanes: [{ lane: stage.instance.id, permits: 64 }], now: stage.clock.now(), leaseMs: 1 };
  assert.deepEqual((await stage.deps.store.claimMessages(claim)).claimed, [], "all of them are leased");
  assert.equal(stage.provider.handed.length, 1);
  return ids;
}

test("a message whose lease expired while it waited for another is sent once, under a new lease", async (t) => {
  const stage = await engineStage(t);
  stage.provider.sendNext.push("never", "never", "never");
  const ids = await leasedTogether(stage, ["a", "b", "c", "d"]);
  // The message behind them waits for longer than its lease lasts; the sweep gives such leases back every 5 s.
  for (let seconds = 0; seconds < 150; seconds += 5) {
    await stage.clock.advance(5_000);
    await stage.deps.store.releaseLeases(stage.clock.real(), stage.clock.now());
  }
  assert.deepEqual(
    stage.provider.handed.map(({ text }) => text),
    ["a", "b", "c", "d"],
  );
  for (const id of ids) checkSendAttempts(await stage.message(id), stage.provider.handed);
  const last = await stage.message(ids[3] ?? "msg_");
  assert.deepEqual([last.status, last.claimedUntil, last.dueAt], ["sent", null, null]);
});

test("a message that is leased again after its first lease expired is sent once, and its deferral is respected", async (t) => {
  const stage = await engineStage(t);
  stage.provider.sendNext.push("never", deferred(60_000));
  const [, id = "msg_"] = await leasedTogether(stage, ["first", "second"]);
  await stage.clock.advance(1_000);
  // As if both leases had expired while the first attempt continues.
  await stage.deps.store.releaseLeases(Number.POSITIVE_INFINITY, stage.clock.now());
  await stage.run();
  await stage.clock.advance(45_000);
  assert.deepEqual(
    stage.provider.handed.map(({ text }) => text),
    ["first", "second"],
  );
  assert.equal((await stage.message(id)).status, "queued");
  await stage.pass(60_000);
  assert.deepEqual([(await stage.message(id)).status, stage.provider.handed.length], ["sent", 3]);
});
