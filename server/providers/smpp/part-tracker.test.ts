import assert from "node:assert/strict";
import { test } from "node:test";
import { outboundMessage } from "../../../test/support/outbound.ts";
import { Disk } from "../../../test/support/smsc/instance.ts";
import type { ReceiptSignal } from "../provider.ts";
import { PartTracker, type TrackedMessage, type TrackedPart } from "./part-tracker.ts";

const DAY = 86_400_000;
const DELIVERED = { state: "delivered", word: "DELIVRD", code: null } as const;
const FAILED = { state: "failed", word: "UNDELIV", code: "045" } as const;
const UNDERWAY = { state: "underway", word: "ENROUTE", code: null } as const;

function stage(disk = new Disk()) {
  const reported: ReceiptSignal[] = [];
  const tracker = new PartTracker(disk.attempts, async (signal) => {
    await disk.write(() => disk.kept.apply(signal));
    reported.push(signal);
    return "applied";
  });
  const found = (id: string) => tracker.findById(id) ?? assert.fail(`${id} is not found`);
  /** An attempt has begun; the engine commits what `conclude` says. */
  const track = (parts: TrackedPart[], more: Partial<TrackedMessage> = {}) => {
    const message = { messageId: "msg_1", attemptedAt: 0, reference: "1", isAccepted: true, parts, ...more } as const;
    const outbound = outboundMessage({ ...message, to: "+15550100001", channel: "sms" });
    disk.kept.begin(outbound);
    tracker.track(message);
    const { reference } = message;
    const note = () => tracker.noteOf(message);
    return {
      message,
      accept: () => disk.kept.conclude(outbound, { outcome: "accepted", reference, note }),
      lose: () => disk.kept.conclude(outbound, { outcome: "unknown", reason: "no response", note }),
    };
  };
  return { disk, reported, tracker, found, track };
}

const parts = (...states: TrackedPart["state"][]): TrackedPart[] =>
  states.map((state, at) => ({ id: state === "missing" ? null : String(at + 1), userReference: at + 1, state }));

test("the next process finds the messages, with the receipts so far", async () => {
  const first = stage();
  first.track(parts("open", "open")).accept();
  await first.tracker.applyReceipt(first.found("1"), DELIVERED);
  first.track([], { messageId: "msg_2", reference: "2" }).accept();
  await first.disk.attempts.change({ messageId: "msg_2", attemptedAt: 0, reference: "2" }, '{"parts":[{}]}');
  const next = stage(first.disk);
  await next.tracker.load(DAY);
  assert.equal(next.tracker.findByUserReference(2)?.part.id, "2");
  await next.tracker.applyReceipt(next.found("2"), DELIVERED);
  assert.deepEqual(
    next.reported.map(({ receipt, messageId, reference }) => [receipt, messageId, reference]),
    [["delivered", "msg_1", "1"]],
  );
  assert.deepEqual(
    first.disk.kept.noted.map(({ messageId }) => messageId),
    ["msg_2"],
    "a note that cannot be read is left alone",
  );
});

test("a receipt between the response and the commit of the outcome is on disk before it is answered, and stays", async () => {
  const first = stage();
  const { accept } = first.track(parts("open", "open"));
  await first.tracker.applyReceipt(first.found("1"), DELIVERED);
  const died = stage(first.disk);
  await died.tracker.load(DAY);
  assert.equal(died.found("1").part.state, "delivered", "the process died before the outcome was committed");
  accept();
  const next = stage(first.disk);
  await next.tracker.load(DAY);
  await next.tracker.applyReceipt(next.found("2"), DELIVERED);
  assert.deepEqual(
    next.reported.map(({ receipt }) => receipt),
    ["delivered"],
  );
});

test("an outcome that is committed after the last receipt brings no note", async () => {
  const { track, tracker, found, disk } = stage();
  const { accept } = track(parts("open"));
  await tracker.applyReceipt(found("1"), DELIVERED);
  accept();
  assert.equal(disk.size, 0);
});

test("a message whose outcome is unknown keeps its note when a receipt proves that it was sent", async () => {
  const first = stage();
  first.track(parts("open"), { isAccepted: false }).lose();
  await first.tracker.applyReceipt(first.found("1"), UNDERWAY);
  const next = stage(first.disk);
  await next.tracker.load(DAY);
  await next.tracker.applyReceipt(next.found("1"), UNDERWAY);
  assert.deepEqual(
    [first, next].map(({ reported }) => reported.map(({ receipt, note }) => [receipt, note !== undefined])),
    [[["sent", true]], [["sent", false]]],
  );
  await next.tracker.applyReceipt(next.found("1"), DELIVERED);
  assert.deepEqual([next.reported.at(-1)?.receipt, next.disk.size], ["delivered", 0]);
});

test("messages are forgotten after seven days, at a start and later", async () => {
  const first = stage();
  first.track(parts("open", "open")).accept();
  const next = stage(first.disk);
  await next.tracker.load(7 * DAY);
  assert.deepEqual([next.tracker.findById("1"), first.disk.size], [null, 0]);
  const running = stage();
  running.track(parts("open", "open")).accept();
  await running.tracker.sweep(7 * DAY - 1);
  assert.notEqual(running.tracker.findById("1"), null);
  await running.tracker.sweep(7 * DAY);
  assert.deepEqual([running.tracker.findById("1"), running.disk.size], [null, 0]);
});

test("a message with a part that was never sent is never delivered, and failed if a part failed", async () => {
  const { tracker, found, reported, disk, track } = stage();
  track(parts("open", "missing", "open"), { isAccepted: false }).lose();
  await tracker.applyReceipt(found("1"), DELIVERED);
  await tracker.applyReceipt(found("3"), UNDERWAY);
  assert.deepEqual(reported, []);
  await tracker.applyReceipt(found("3"), FAILED);
  assert.deepEqual(
    reported.map(({ receipt, code }) => [receipt, code]),
    [["failed", "045"]],
  );
  assert.equal(disk.size, 1, "it is kept until it is old: what is missing has no end");
});

test("a receipt that could not be reported is reported when it comes again", async () => {
  const { disk, reported, tracker, found, track } = stage();
  track(parts("open", "open")).accept();
  disk.fails = true;
  await assert.rejects(tracker.applyReceipt(found("1"), FAILED));
  await assert.rejects(tracker.applyReceipt(found("2"), DELIVERED));
  disk.fails = false;
  await tracker.applyReceipt(found("2"), DELIVERED);
  assert.deepEqual(
    reported.map(({ receipt }) => receipt),
    ["failed"],
  );
  assert.equal(tracker.hasEnded("1"), true);
  tracker.reassignId("1");
  assert.equal(tracker.hasEnded("1"), false, "the id is another message's now");
});

test("however many messages wait, half of all user references stay free, and the newest are found", () => {
  const { tracker } = stage();
  for (let at = 0; at < 70_000; at += 1) {
    const part = { id: null, userReference: (at % 0xffff) + 1, state: "open" } as const;
    const message = { messageId: `msg_${at}`, reference: `tb:${at}`, attemptedAt: at, isAccepted: true } as const;
    tracker.track({ ...message, parts: [part] });
  }
  let taken = 0;
  for (let number = 1; number <= 0xffff; number += 1) if (tracker.findByUserReference(number) !== null) taken += 1;
  assert.equal(taken, 32_768);
  assert.equal(tracker.findByUserReference((69_999 % 0xffff) + 1)?.message.reference, "tb:69999");
});

test("an id that the SMSC uses again belongs to the newer message", () => {
  const { tracker, found, track } = stage();
  track(parts("open", "open")).accept();
  tracker.reassignId("1");
  assert.equal(tracker.findById("1"), null);
  assert.equal(found("2").message.messageId, "msg_1");
});

test("a message that failed in part stays failed when a receipt comes again after a restart, until the part arrives", async () => {
  const first = stage();
  first.track(parts("open", "open")).accept();
  await first.tracker.applyReceipt(first.found("2"), FAILED);
  await first.tracker.applyReceipt(first.found("1"), DELIVERED);
  const next = stage(first.disk);
  await next.tracker.load(DAY);
  await next.tracker.applyReceipt(next.found("1"), DELIVERED);
  assert.deepEqual(new Set(next.reported.map(({ receipt }) => receipt)), new Set(["failed"]));
  await next.tracker.applyReceipt(next.found("2"), DELIVERED);
  assert.deepEqual([next.reported.at(-1)?.receipt, next.disk.size], ["delivered", 0]);
});
