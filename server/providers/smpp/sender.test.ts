import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { outboundMessage } from "../../../test/support/outbound.ts";
import { Disk } from "../../../test/support/smsc/instance.ts";
import { SignalOutbox } from "../kit/signal-outbox.ts";
import type { Outcome, Signal } from "../provider.ts";
import type { SubmitResult } from "./link.ts";
import { PartSubmitter } from "./part-submitter.ts";
import { PartTracker, type TrackedMessage } from "./part-tracker.ts";
import { RecentSubmits } from "./recent-submits.ts";
import { SmppSender } from "./sender.ts";
import { readSettings } from "./settings.ts";
import { STATUSES } from "./status.ts";
import type { SubmitPdu } from "./submit-pdus.ts";

const LONG = "0123456789".repeat(40);
const ok = (messageId: string): SubmitResult => ({ answer: "ok", messageId });
const refused = (status: number): SubmitResult => ({ answer: "refused", status });

/** A sender over a link that gives the results that a test sets. */
class Stage {
  readonly clock = new SimulatedClock();
  readonly disk = new Disk();
  readonly outbox = new SignalOutbox(this.clock);
  readonly recentSubmits = new RecentSubmits(0);
  readonly tracker = new PartTracker(this.disk.attempts, (signal) => this.outbox.report(signal));
  readonly reported: Signal[] = [];
  readonly faults: unknown[] = [];
  readonly submitted: SubmitPdu[] = [];
  readonly pauses: number[] = [];
  isUp = true;
  responseMs = Number.POSITIVE_INFINITY;
  answer: (at: number) => SubmitResult | Promise<SubmitResult> = (at) => ok(String(at));
  readonly submitter: PartSubmitter;
  readonly sender: SmppSender;
  /** The note of the last outcome; null without one. */
  note: string | null = null;
  #made = 0;

  constructor(config: Record<string, unknown> = {}) {
    const { clock, outbox, recentSubmits, tracker } = this;
    const stage = this;
    const link = {
      get responseMs() {
        return stage.responseMs;
      },
      get isUp() {
        return stage.isUp;
      },
      state: () => ({ ...STATE, lastError: "transceiver: it fell" }),
      pause: (ms: number) => void this.pauses.push(ms),
      submit: async (submit: SubmitPdu) => this.answer(this.submitted.push(submit)),
    };
    const fault = (error: unknown) => void this.faults.push(error);
    const submitter = new PartSubmitter(link, outbox, clock);
    this.submitter = submitter;
    const settings = readSettings(config);
    this.sender = new SmppSender({ clock, outbox, recentSubmits, tracker, link, submitter, fault, settings });
    outbox.begin(async (signal) => {
      this.reported.push(signal);
      return "applied";
    });
  }

  async send(text = "Hello", abort = new AbortController().signal): Promise<Outcome> {
    const messageId = `msg_${++this.#made}` as const;
    const message = outboundMessage({ messageId, to: "+15550100001", channel: "sms", text, attemptedAt: 7 });
    let outcome: Outcome | null = null;
    const sending = this.sender.send(message, abort).then((answer) => {
      const { note, ...rest } = { note: () => undefined, ...answer };
      this.note = note() ?? null;
      outcome = rest as Outcome;
    });
    await this.clock.advanceUntil(() => outcome !== null, 600_000);
    await sending;
    return outcome ?? assert.fail();
  }
}

const STATE = { bound: [], isDegraded: false, since: 0 };

test("every refusing status means not sent: for good, for now, or because of the bind", async () => {
  for (const status of STATUSES) {
    if (status.class === "ok") continue;
    const stage = new Stage();
    stage.answer = () => refused(status.code);
    const outcome = await stage.send();
    switch (status.class) {
      case "permanent":
        assert.ok(outcome.outcome === "rejected", status.name);
        assert.equal(outcome.code, status.name);
        assert.match(outcome.reason, new RegExp(status.name));
        break;
      case "bind":
        assert.ok(outcome.outcome === "deferred" && outcome.isDown === true, status.name);
        break;
      default:
        assert.ok(outcome.outcome === "deferred" && outcome.isDown === undefined, status.name);
        assert.equal(stage.pauses.length, status.class === "throttled" ? 1 : 0);
    }
    assert.equal(stage.submitted.length, 1);
    assert.equal(stage.note, null);
  }
});

test("the pause after throttling doubles up to eight seconds, and is reset once a message is accepted", async () => {
  const stage = new Stage();
  stage.answer = () => refused(0x58);
  for (let count = 0; count < 5; count += 1) {
    await stage.send();
    await stage.clock.advance(10_000);
  }
  assert.deepEqual(stage.pauses, [1_000, 2_000, 4_000, 8_000, 8_000]);
  stage.answer = () => ok("1");
  await stage.send();
  stage.answer = () => refused(0x58);
  await Promise.all(
    [stage.sender, stage.sender].map((sender) =>
      sender.send(outboundMessage({ messageId: "msg_x", to: "+15550100001" }), new AbortController().signal),
    ),
  );
  assert.deepEqual(stage.pauses.slice(5), [1_000, 1_000], "those refused together are one refusal");
});

test("a message that was not written is deferred, and keeps its place while the instance is down", async () => {
  const stage = new Stage();
  stage.answer = () => ({ answer: "notSent", reason: "no room", isDown: false });
  assert.deepEqual(await stage.send(), { outcome: "deferred", retryAfterMs: 1_000, reason: "no room" });
  stage.answer = () => ({ answer: "notSent", reason: "it fell", isDown: true });
  const down = { outcome: "deferred", retryAfterMs: null, isDown: true };
  assert.deepEqual(await stage.send(), { ...down, reason: "it fell" });
  stage.isUp = false;
  assert.deepEqual(await stage.send(), { ...down, reason: "transceiver: it fell" });
  await stage.sender.finish(0);
  assert.deepEqual(await stage.send(), { ...down, reason: "the instance is being stopped" });
  assert.equal(stage.submitted.length, 2);
});

test("a message that cannot be encoded is rejected, and the reason names the field, not its value", async () => {
  const { PduError } = await import("./octets.ts");
  const stage = new Stage();
  stage.answer = () => Promise.reject(new PduError("source_addr", "has 40 octets, 20 are allowed"));
  assert.deepEqual(await stage.send(), {
    outcome: "rejected",
    code: "NOT_WRITABLE",
    reason: "SMPP cannot carry it: source_addr has 40 octets, 20 are allowed.",
  });
});

test("beyond the window the engine may attempt what the window and the rate limit take in 200 ms, at most 64", () => {
  for (const [config, responseMs, ahead] of [
    [{ windowSize: 20 }, Number.POSITIVE_INFINITY, 0],
    [{ windowSize: 20 }, 20_000, 0],
    [{ windowSize: 20 }, 2_000, 2],
    [{ windowSize: 20 }, 100, 40],
    [{ windowSize: 20 }, 0, 64],
    [{ windowSize: 20, throughputPerSecond: 50 }, 1, 10],
  ] as const) {
    const stage = new Stage(config);
    stage.responseMs = responseMs;
    assert.equal(stage.sender.concurrency, 20 + ahead);
  }
});

test("no more messages are begun at once than the window and five seconds of the rate limit allow, and one that waits too long or is aborted is deferred", async () => {
  for (const [config, room] of [
    [{ windowSize: 20 }, 20],
    [{ windowSize: 20, throughputPerSecond: 0.1 }, 1],
    [{ windowSize: 20, throughputPerSecond: 2 }, 10],
    [{ windowSize: 20, throughputPerSecond: 100 }, 20],
  ] as const) {
    const stage = new Stage(config);
    assert.equal(stage.sender.concurrency, room);
    stage.answer = () => new Promise(() => {});
    for (let count = 0; count < room; count += 1) {
      void stage.sender.send(outboundMessage({ messageId: "msg_x", to: "+15550100001" }), new AbortController().signal);
    }
    const abort = new AbortController();
    const aborted = stage.sender.send(outboundMessage({ messageId: "msg_y", to: "+15550100001" }), abort.signal);
    abort.abort();
    assert.equal((await aborted).outcome, "deferred");
    const began = stage.clock.real();
    const outcome = await stage.send();
    assert.ok(outcome.outcome === "deferred" && outcome.isDown === undefined);
    assert.equal(stage.clock.real() - began, 12_000);
    assert.equal(stage.submitted.length, room);
  }
});

test("no part of an interrupted message is sent twice: accepted parts stay, the others are retried", async () => {
  const stage = new Stage();
  const answers: SubmitResult[] = [
    ok("1"),
    refused(0x14),
    { answer: "notSent", reason: "it fell", isDown: true },
    ok("3"),
    ok("2"),
  ];
  stage.answer = (at) => answers[at - 1] ?? assert.fail("one too many");
  const outcome = await stage.send(LONG);
  assert.deepEqual(outcome, { outcome: "accepted", reference: "1", segments: 3, encoding: "GSM-7" });
  const parts = stage.submitted.map(({ shortMessage }) => shortMessage[5]);
  assert.deepEqual(parts, [1, 2, 3, 2, 3]);
  const numbers = stage.submitted.map(({ tlvs }) => Buffer.from(tlvs.get(0x0204) ?? []).toString("hex"));
  assert.equal(new Set(numbers).size, 3, "a part keeps its number");
});

test("a part whose response was lost is not sent again, the others are sent, and the outcome is unknown", async () => {
  const stage = new Stage();
  const answers: SubmitResult[] = [ok("1"), { answer: "unknown", reason: "no answer came" }, ok("3")];
  stage.answer = (at) => answers[at - 1] ?? assert.fail("one too many");
  const outcome = await stage.send(LONG);
  assert.deepEqual(outcome, { outcome: "unknown", reason: "not all of 3 parts were accepted; part 2: no answer came" });
  assert.notEqual(stage.note, null);
});

test("if the response to the first part was lost, no other part is sent: the outcome is unknown, and the others are recorded as missing", async () => {
  const stage = new Stage();
  stage.answer = () => ({ answer: "unknown", reason: "no answer came" });
  const outcome = await stage.send(LONG);
  assert.deepEqual(outcome, { outcome: "unknown", reason: "not all of 3 parts were accepted; part 1: no answer came" });
  assert.equal(stage.submitted.length, 1);
  const states = (JSON.parse(stage.note ?? "") as TrackedMessage).parts.map(({ state }) => state);
  assert.deepEqual(states, ["open", "missing", "missing"]);
});

test("the rest of a message is tried for four and a half minutes, and then the outcome is unknown", async () => {
  const stage = new Stage();
  stage.answer = (at) => (at === 1 ? ok("1") : { answer: "notSent", reason: "it fell", isDown: true });
  const began = stage.clock.real();
  const outcome = await stage.send(LONG);
  assert.ok(outcome.outcome === "unknown");
  const tookMs = stage.clock.real() - began;
  assert.ok(tookMs >= 270_000 && tookMs < 290_000, `${tookMs}`);
});

test("the late outcome of an aborted send is reported: as sent, or as failed if it was refused for good", async () => {
  for (const [answer, receipt] of [
    [ok("9"), "sent"],
    [refused(0x0b), "failed"],
    [refused(0x14), null],
  ] as const) {
    const stage = new Stage();
    let respond = (_: SubmitResult) => {};
    stage.answer = () => new Promise((resolve) => (respond = resolve));
    const abort = new AbortController();
    const sending = stage.send("Hello", abort.signal);
    stage.clock.after(1, () => abort.abort());
    const outcome = await sending;
    assert.equal(outcome.outcome, "unknown");
    respond(answer);
    await stage.clock.advance(0);
    assert.deepEqual(
      stage.reported.map((signal) => signal.kind === "receipt" && [signal.receipt, signal.messageId]),
      receipt === null ? [] : [[receipt, "msg_1"]],
    );
  }
});

test("an id of another message is not used as the reference, and a note identifies the receipt", async () => {
  const stage = new Stage();
  stage.answer = () => ok("always the same");
  const first = await stage.send();
  assert.equal(stage.note, null);
  const second = await stage.send();
  assert.ok(first.outcome === "accepted" && second.outcome === "accepted");
  assert.equal(first.reference, "always the same");
  assert.equal(second.reference, "tb:2:7");
  assert.notEqual(stage.note, null);
});

test("an id that is used again after its message has ended is not shared", async () => {
  const stage = new Stage();
  stage.answer = () => ok("1");
  await stage.send();
  for (let count = 0; count < 3; count += 1) {
    const found = stage.tracker.findById("1");
    if (found !== null) await stage.tracker.applyReceipt(found, { state: "delivered", word: "DELIVRD", code: null });
    else stage.recentSubmits.endId("1");
    await stage.send();
  }
  assert.equal(stage.recentSubmits.sharedIds, 0);
});

test("finish() begins no message, and lets messages in parts go out whole within its limit", async () => {
  const stage = new Stage();
  stage.answer = (at) =>
    at === 1 ? ok("1") : new Promise((resolve) => stage.clock.after(2_000, () => resolve(ok("2"))));
  const outcomes: string[] = [];
  const long = outboundMessage({ messageId: "msg_long", to: "+15550100001", channel: "sms", text: LONG });
  const whole = stage.sender.send(long, new AbortController().signal).then(({ outcome }) => outcomes.push(outcome));
  await stage.clock.advance(0);
  let isFinished = false;
  const finishing = stage.sender.finish(5_000).then(() => (isFinished = true));
  const late = await stage.sender.send(
    outboundMessage({ messageId: "msg_late", to: "+15550100001" }),
    new AbortController().signal,
  );
  assert.ok(late.outcome === "deferred" && late.isDown === true);
  assert.equal(isFinished, false);
  await stage.clock.advanceUntil(() => isFinished, 4_000);
  await Promise.all([whole, finishing]);
  assert.deepEqual([outcomes, stage.submitted.length], [["accepted"], 3]);
  const hanging = new Stage();
  hanging.answer = (at) => (at === 1 ? ok("1") : new Promise(() => {}));
  void hanging.sender.send(long, new AbortController().signal);
  await hanging.clock.advance(0);
  let isOver = false;
  void hanging.sender.finish(5_000).then(() => (isOver = true));
  await hanging.clock.advance(4_999);
  assert.equal(isOver, false);
  await hanging.clock.advance(1);
  assert.equal(isOver, true);
});

test("a long message with a part that is deferred again and again does not hold up others", async () => {
  const stage = new Stage({ windowSize: 3 });
  stage.answer = (at) => (at === 1 || stage.submitted.at(-1)?.esmClass === 0 ? ok(`${at}`) : refused(0x14));
  const long = outboundMessage({ messageId: "msg_long", to: "+15550100002", channel: "sms", text: LONG });
  let isOver = false;
  void stage.sender.send(long, new AbortController().signal).then(() => (isOver = true));
  await stage.clock.advance(100);
  const outcome = await stage.send();
  assert.deepEqual([outcome.outcome, isOver], ["accepted", false]);
});

test("until each part of a long message was tried, no other message comes between them", async () => {
  const stage = new Stage({ windowSize: 2 });
  const answers: ((answer: SubmitResult) => void)[] = [];
  stage.answer = (at) => (at === 1 ? ok("1") : new Promise((resolve) => void answers.push(resolve)));
  const signal = new AbortController().signal;
  const begin = (to: string, text: string) =>
    void stage.sender.send(outboundMessage({ messageId: `msg_${text.length}`, to, channel: "sms", text }), signal);
  begin("+15550100002", LONG);
  begin("+15550100001", "Hello");
  await stage.clock.advance(1_000);
  assert.equal(stage.submitted.length, 3);
  answers[0]?.(ok("2"));
  await stage.clock.advance(1_000);
  assert.equal(stage.submitted.length, 3);
  answers[1]?.(ok("3"));
  await stage.clock.advance(0);
  assert.equal(stage.submitted.length, 4);
});

test("a waiting message is not begun by a stop that releases permits", async () => {
  const stage = new Stage({ windowSize: 1 });
  let answer = (_: SubmitResult) => {};
  stage.answer = () => new Promise((resolve) => (answer = resolve));
  const signal = new AbortController().signal;
  const first = stage.sender.send(outboundMessage({ messageId: "msg_1", to: "+15550100001" }), signal);
  const second = stage.sender.send(outboundMessage({ messageId: "msg_2", to: "+15550100001" }), signal);
  await stage.clock.advance(0);
  await stage.sender.finish(0);
  answer(ok("1"));
  assert.equal((await first).outcome, "accepted");
  assert.deepEqual(await second, {
    outcome: "deferred",
    retryAfterMs: null,
    isDown: true,
    reason: "the instance is being stopped",
  });
  assert.equal(stage.submitted.length, 1);
});

test("messages without a response are counted until one gets a response, even a refusal", async () => {
  for (const answered of [ok("1"), refused(0x14), refused(0x0b)]) {
    const stage = new Stage();
    stage.answer = () => ({ answer: "unknown", reason: "no answer came" });
    await stage.send();
    await stage.send();
    assert.equal(stage.submitter.unanswered, 2);
    stage.answer = () => ({ answer: "notSent", reason: "it fell", isDown: true });
    await stage.send();
    assert.equal(stage.submitter.unanswered, 2, "nothing was asked");
    stage.answer = () => answered;
    await stage.send();
    assert.equal(stage.submitter.unanswered, 0);
  }
});

test("an accepted message is found by its user reference after the send has ended", async () => {
  const stage = new Stage();
  await stage.send();
  const number = Buffer.from(stage.submitted[0]?.tlvs.get(0x0204) ?? []).readUInt16BE();
  assert.deepEqual([stage.recentSubmits.find(number)?.reference, stage.recentSubmits.isEarly(1)], ["1", false]);
});

test("once a send has ended, in any way, no receipt waits for it", async () => {
  const lost: SubmitResult = { answer: "unknown", reason: "no answer came" };
  for (const answer of [ok("1"), ok(""), lost, refused(0x0b), refused(0x14)]) {
    const stage = new Stage();
    stage.answer = () => answer;
    await stage.send();
    assert.equal(stage.recentSubmits.isEarly(stage.recentSubmits.order), false, JSON.stringify(answer));
  }
});
