import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { outboundMessage } from "../../../test/support/outbound.ts";
import { Disk } from "../../../test/support/smsc/instance.ts";
import { SignalOutbox } from "../kit/signal-outbox.ts";
import type { Applied, Signal } from "../provider.ts";
import { PartTracker, type TrackedMessage } from "./part-tracker.ts";
import { ReceiptHandler } from "./receipt-handler.ts";
import type { SmppReceipt } from "./receipts.ts";
import { RecentSubmits } from "./recent-submits.ts";

const OK = 0;
const AGAIN = 0x64;

function wholeReceipt(receipt: Partial<SmppReceipt>): SmppReceipt {
  const none = { ids: [], userReference: null, state: "delivered", word: "DELIVRD", code: null, ends: [] } as const;
  return { ...none, ...receipt };
}

/**
 * A receipt handler in simulated time. Receipts are unknown unless their reference is in `known`, or their message is
 * named.
 */
class Stage {
  readonly clock = new SimulatedClock();
  readonly disk: Disk;
  readonly outbox = new SignalOutbox(this.clock);
  readonly recentSubmits = new RecentSubmits(0);
  readonly tracker: PartTracker;
  readonly handler: ReceiptHandler;
  readonly known = new Set<string>();
  /** Messages in the store by reference. */
  readonly sent = new Map<string, { from: string; to: string }>();
  readonly reported: Signal[] = [];
  readonly statuses: (number | null)[] = [];
  tries = 0;
  fails = false;

  constructor(disk = new Disk()) {
    this.disk = disk;
    this.tracker = new PartTracker(disk.attempts, (signal) => this.outbox.report(signal));
    const { clock, outbox, recentSubmits, tracker } = this;
    const parts = { memory: disk, clock, outbox, recentSubmits, tracker };
    const findSent = async (reference: string) => this.sent.get(reference) ?? null;
    this.handler = new ReceiptHandler({ ...parts, others: () => [], findSent });
    this.outbox.begin(async (signal): Promise<Applied> => {
      this.tries += 1;
      if (this.fails) throw new Error("the store is busy");
      if (signal.kind !== "receipt") return "applied";
      if (signal.messageId === undefined && !this.known.has(signal.reference)) return "unknown";
      this.disk.kept.apply(signal);
      this.reported.push(signal);
      return "applied";
    });
  }

  async take(receipt: Partial<SmppReceipt>): Promise<void> {
    void this.handler.handle(wholeReceipt(receipt)).then((status) => this.statuses.push(status));
    await this.clock.advance(0);
  }

  receipts(): [string, string][] {
    return this.reported.flatMap((signal) => (signal.kind === "receipt" ? [[signal.reference, signal.receipt]] : []));
  }

  /** The attempt has ended, and its outcome brought the note. */
  keep(parts: TrackedMessage["parts"], more: Partial<TrackedMessage> = {}): void {
    const attempt = { messageId: "msg_1", attemptedAt: this.clock.now(), reference: "tb:1", ...more } as const;
    this.tracker.track({ ...attempt, isAccepted: true, parts });
    const { reference } = attempt;
    const note = () => this.tracker.noteOf(attempt);
    this.disk.kept.conclude(outboundMessage({ ...attempt, to: "+15550100001" }), {
      outcome: "accepted",
      reference,
      note,
    });
  }
}

const part = (id: string | null, userReference: number) => ({ id, userReference, state: "open" }) as const;

test("a receipt for a known message is reported, and answered once that is on disk", async () => {
  const stage = new Stage();
  stage.known.add("7");
  await stage.take({ ids: ["7"] });
  assert.deepEqual([stage.receipts(), stage.statuses], [[["7", "delivered"]], [OK]]);
  assert.equal(stage.clock.pending, 0);
});

test("the second id counts if the first one matches nothing", async () => {
  const stage = new Stage();
  stage.known.add("123");
  await stage.take({ ids: ["7b", "123"] });
  assert.deepEqual(stage.receipts(), [["123", "delivered"]]);
});

test("a receipt without a message is held, stored within half a second, and only then answered", async () => {
  const stage = new Stage();
  await stage.take({ ids: ["7"] });
  await stage.clock.advance(499);
  assert.deepEqual([stage.statuses, stage.disk.entries.size], [[], 0]);
  await stage.clock.advance(1);
  assert.deepEqual([stage.statuses, stage.disk.entries.size], [[OK], 1]);
  stage.known.add("7");
  await stage.clock.advance(10_000);
  assert.deepEqual(stage.receipts(), [["7", "delivered"]]);
  assert.equal(stage.disk.entries.size, 0);
});

test("a receipt that never finds its message is given up after a minute, and counted", async () => {
  const stage = new Stage();
  await stage.take({ ids: ["7"] });
  await stage.clock.advance(59_000);
  assert.equal(stage.handler.unmatched, 0);
  await stage.clock.advance(20_000);
  assert.deepEqual([stage.handler.unmatched, stage.disk.entries.size, stage.clock.pending], [1, 0, 0]);
  assert.ok(stage.tries < 20, `it was told ${stage.tries} times`);
});

test("the count of unmatched receipts is reset after an hour without another", async () => {
  const stage = new Stage();
  for (const id of ["7", "8"]) {
    await stage.take({ ids: [id] });
    await stage.clock.advance(80_000);
  }
  await stage.clock.advance(3_500_000);
  assert.equal(stage.handler.unmatched, 2);
  await stage.clock.advance(200_000);
  assert.equal(stage.handler.unmatched, 0);
  await stage.take({ ids: ["9"] });
  await stage.clock.advance(80_000);
  assert.equal(stage.handler.unmatched, 1);
});

test("the next process reports the stored receipts", async () => {
  const disk = new Disk();
  const first = new Stage(disk);
  await first.take({ ids: ["7"], state: "failed", word: "EXPIRED", code: "045" });
  await first.clock.advance(600);
  await first.outbox.stop();
  disk.entries.set("held/junk", "null");
  const next = new Stage(disk);
  next.known.add("7");
  await next.handler.load();
  await next.clock.advance(0);
  const [signal] = next.reported;
  assert.ok(signal?.kind === "receipt");
  assert.deepEqual(
    [signal.receipt, signal.code, signal.reason],
    ["failed", "045", "The carrier accepted the message and could not deliver it (EXPIRED, error 045)."],
  );
  assert.equal(disk.entries.size, 0);
});

test("a receipt that can be neither reported nor stored gets no response after a minute, or at a stop", async () => {
  for (const how of ["time", "stop"]) {
    const stage = new Stage();
    stage.disk.fails = true;
    stage.fails = true;
    await stage.take({ ids: ["7"] });
    await stage.clock.advance(how === "time" ? 80_000 : 1_000);
    if (how === "stop") {
      assert.deepEqual(stage.statuses, []);
      await stage.outbox.stop();
      await stage.clock.advance(0);
    }
    assert.deepEqual([stage.statuses, stage.clock.pending], [[null], 0], how);
  }
});

test("an answered receipt is retried until the engine accepts it, however long that takes", async () => {
  const stage = new Stage();
  stage.known.add("7");
  stage.fails = true;
  await stage.take({ ids: ["7"] });
  await stage.clock.advance(3_600_000);
  assert.deepEqual([stage.statuses, stage.disk.entries.size], [[OK], 1]);
  stage.fails = false;
  await stage.clock.advance(10_000);
  assert.deepEqual([stage.receipts(), stage.disk.entries.size], [[["7", "delivered"]], 0]);
});

test("receipts of one message keep their order, and do not wait for other messages", async () => {
  const stage = new Stage();
  stage.known.add("8");
  await stage.take({ ids: ["7"], state: "failed" });
  await stage.take({ ids: ["7"] });
  await stage.take({ ids: ["8"] });
  assert.deepEqual(stage.receipts(), [["8", "delivered"]]);
  stage.known.add("7");
  await stage.clock.advance(1_000);
  assert.deepEqual(stage.receipts().slice(1), [
    ["7", "failed"],
    ["7", "delivered"],
  ]);
});

test("beyond ten thousand open receipts the SMSC is asked to repeat them later", async () => {
  const stage = new Stage();
  for (let id = 0; id <= 10_000; id += 1)
    void stage.handler
      .handle({ ids: [String(id)], userReference: null, state: "delivered", word: "DELIVRD", code: null, ends: [] })
      .then((status) => stage.statuses.push(status));
  await stage.clock.advance(0);
  assert.deepEqual(stage.statuses, [AGAIN]);
  await stage.outbox.stop();
});

test("an intermediate state is not held, and proves that a message with a lost response was accepted", async () => {
  const stage = new Stage();
  await stage.take({ ids: ["7"], state: "underway", word: "ENROUTE" });
  assert.deepEqual([stage.statuses, stage.tries], [[OK], 0]);
  stage.keep([part(null, 5)]);
  await stage.take({ ids: ["8"], userReference: 5, state: "underway", word: "ENROUTE" });
  assert.deepEqual(stage.receipts(), [["tb:1", "sent"]]);
});

test("the user reference identifies a message only once no response is on its way that could belong to the receipt", async () => {
  const stage = new Stage();
  const taken = stage.recentSubmits.open("msg_1", () => false);
  const open = stage.recentSubmits.open("msg_2", () => false);
  stage.recentSubmits.close(taken, "1");
  await stage.take({ ids: ["99"], userReference: taken.userReference });
  await stage.clock.advance(1_000);
  assert.deepEqual(stage.receipts(), []);
  stage.recentSubmits.close(open, "2");
  await stage.clock.advance(2_000);
  assert.deepEqual(stage.receipts(), [["1", "delivered"]]);
});

test("an id of several messages identifies none of them: only the user reference does", async () => {
  const stage = new Stage();
  stage.known.add("same");
  stage.recentSubmits.assignId("same", "msg_1", "same");
  stage.recentSubmits.assignId("same", "msg_2", "tb:2");
  await stage.take({ ids: ["same"] });
  await stage.clock.advance(1_000);
  assert.deepEqual(stage.receipts(), []);
  stage.keep([part("same", 5)]);
  await stage.take({ ids: ["same"], userReference: 5 });
  await stage.clock.advance(80_000);
  assert.deepEqual([stage.receipts(), stage.handler.unmatched], [[["tb:1", "delivered"]], 1]);
});

test("a message in parts is delivered with its last part, failed with any part, and repetitions change nothing", async () => {
  const stage = new Stage();
  stage.keep([part("1", 1), part("2", 2), part(null, 3)]);
  await stage.take({ ids: ["2"] });
  await stage.take({ ids: ["2"] });
  await stage.take({ ids: ["1"] });
  assert.deepEqual(stage.receipts(), []);
  await stage.take({ ids: ["77"], userReference: 3 });
  assert.deepEqual([stage.receipts(), stage.disk.size], [[["tb:1", "delivered"]], 0]);
  await stage.take({ ids: ["1"], state: "failed" });
  assert.deepEqual([stage.receipts().length, stage.statuses], [1, [OK, OK, OK, OK, OK]]);
});

test("the last receipt of a part counts, but a delivered part stays delivered", async () => {
  const stage = new Stage();
  stage.keep([part("1", 1), part("2", 2)]);
  await stage.take({ ids: ["1"], state: "failed", word: "UNDELIV", code: "1" });
  await stage.take({ ids: ["2"] });
  assert.deepEqual(stage.receipts(), [
    ["tb:1", "failed"],
    ["tb:1", "failed"],
  ]);
  const other = new Stage();
  other.keep([part("1", 1), part("2", 2)]);
  await other.take({ ids: ["1"] });
  await other.take({ ids: ["1"], state: "failed" });
  await other.take({ ids: ["2"] });
  assert.deepEqual(other.receipts().at(-1), ["tb:1", "delivered"]);
});

test("a receipt of a part waits for its id while the other parts are being submitted", async () => {
  const stage = new Stage();
  const recentSubmits = [1, 2].map(() => stage.recentSubmits.open("msg_1", () => false));
  await stage.take({ ids: ["7"] });
  await stage.clock.advance(200_000);
  assert.deepEqual([stage.receipts(), stage.handler.unmatched], [[], 0]);
  stage.keep([part("7", 1), part("8", 2)]);
  for (const submitted of recentSubmits) stage.recentSubmits.close(submitted, null);
  await stage.take({ ids: ["8"] });
  await stage.clock.advance(10_000);
  assert.deepEqual([stage.receipts(), stage.handler.unmatched], [[["tb:1", "delivered"]], 0]);
});

test("a user reference matches no message to another recipient: another system on the account used it", async () => {
  const stage = new Stage();
  const ends = { from: "0000001", to: "0100001" };
  const taken = stage.recentSubmits.open("msg_1", () => false, ends);
  stage.recentSubmits.close(taken, "1");
  await stage.take({ ids: ["99"], userReference: taken.userReference, ends: ["0000001", "0100002"] });
  stage.keep([part(null, 5)], { messageId: "msg_2", reference: "tb:2", ends });
  await stage.take({ userReference: 5, ends: ["0100002"] });
  await stage.clock.advance(80_000);
  assert.deepEqual([stage.receipts(), stage.handler.unmatched], [[], 2]);
  await stage.take({ ids: ["98"], userReference: taken.userReference, ends: ["0100001", "0000001"] });
  await stage.take({ userReference: 5, ends: ["0000001"] });
  assert.deepEqual(stage.receipts(), [
    ["1", "delivered"],
    ["tb:2", "delivered"],
  ]);
});

test("a message is known by its id and both numbers, or while its response is on its way", async () => {
  const stage = new Stage();
  const ends = { from: "0000001", to: "0100001" };
  const owns = (ids: string[], numbers: string[]) => stage.handler.owns(wholeReceipt({ ids, ends: numbers }));
  const both = ["0100001", "0000001"];
  assert.equal(await owns(["7"], both), false);
  stage.recentSubmits.assignId("7", "msg_1", "7", ends);
  stage.sent.set("8", { from: "+15550000001", to: "+15550100001" });
  for (const id of ["7", "8"]) {
    assert.equal(await owns([id], both), true, id);
    assert.equal(await owns([id], [...both].reverse()), true, id);
    assert.equal(await owns([id], ["0000001"]), true, "the carrier omits the recipient");
    assert.equal(await owns([id], ["0100002", "0000001"]), false, "another contact wrote it");
  }
  const open = stage.recentSubmits.open("msg_2", () => false, ends);
  assert.equal(await owns(["9"], both), true);
  assert.equal(await owns(["9"], ["0100002", "0000001"]), false);
  stage.recentSubmits.close(open, "9");
  assert.equal(await owns(["9"], both), false);
});

test("a receipt whose state is unclear is answered, and changes nothing", async () => {
  const stage = new Stage();
  stage.keep([{ id: "1", userReference: 1, state: "open" }]);
  stage.recentSubmits.assignId("2", "msg_2", "2");
  stage.known.add("3");
  for (const id of ["1", "2", "3"]) await stage.take({ ids: [id], state: "unclear", word: "UNKNOWN" });
  assert.deepEqual([stage.statuses, stage.reported], [[OK, OK, OK], []]);
  assert.equal(stage.handler.unmatched, 0);
});
