/** Tests of attempts without an outcome: what is noted of them, for how long, and that the notes hold no text. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { AttemptsKept, attemptsIn } from "../../../test/support/attempts.ts";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { outboundMessage } from "../../../test/support/outbound.ts";
import type { MessageId } from "../../core/id.ts";
import type { Outcome } from "../provider.ts";
import { createAttempt, matchesText, parseNote } from "./attempt-note.ts";
import { OpenAttempts } from "./open-attempts.ts";

const WHOLE = { step: "whole", files: 0, chatGuid: "iMessage;-;+15551230001" } as const;
const TEXT = { step: "text", files: 0, chatGuid: null } as const;
const HOUR_MS = 3_600_000;

function message(id: string, attemptedAt = 5) {
  const messageId = `msg_${id}` as MessageId;
  return outboundMessage({ messageId, to: "+15551230001", text: "Hello\r\n there ", attemptedAt });
}

async function stage() {
  const clock = new SimulatedClock();
  const kept = new AttemptsKept();
  const disk = { isFull: false };
  const write = async (change: () => void) => {
    if (disk.isFull) throw new Error("the disk is full");
    change();
  };
  const start = () => {
    const attempts = new OpenAttempts(attemptsIn(kept, write), clock);
    attempts.load(kept.noted);
    return attempts;
  };
  const attempts = start();
  const begin = (given: ReturnType<typeof message>, request: Parameters<OpenAttempts["begin"]>[1] = WHOLE) => {
    kept.begin(given);
    return attempts.begin(given, request);
  };
  const conclude = (given: ReturnType<typeof message>, outcome: Outcome) => {
    kept.conclude(given, outcome);
    attempts.release(given);
  };
  return { clock, kept, disk, start, attempts, begin, conclude };
}

test("attempts without an outcome are the same for the next process", async () => {
  const { attempts, begin, start } = await stage();
  const first = await begin(message("a"));
  const second = await begin(message("b"), TEXT);
  await attempts.textSent(second, "G-1");
  const later = start();
  for (const id of ["a", "b"]) assert.deepEqual(await later.find(message(id)), await attempts.find(message(id)), id);
  assert.deepEqual(later.unresolved, [first]);
  assert.equal(later.textOf(message("b")), "G-1");
  assert.equal(await later.find(message("a", 6)), null);
  assert.equal(await later.find(message("c")), null);
});

test("an attempt that memory has lost is found on disk, as long as it has no outcome", async () => {
  const { attempts, begin, kept } = await stage();
  const begun = await begin(message("a"));
  attempts.release(message("a"));
  assert.deepEqual(await attempts.find(message("a")), begun);
  kept.conclude(message("a"), { outcome: "accepted", reference: "G-1" });
  assert.equal(await attempts.find(message("a")), null);
});

test("memory has the last 20,000 attempts, and the disk has those before", async () => {
  const { attempts, begin } = await stage();
  const first = await begin(message("first"));
  for (let count = 0; count < 20_000; count += 1) await begin(message(`${count}`));
  assert.equal(attempts.unresolved.length, 20_000);
  assert.equal(attempts.unresolved[0]?.messageId, "msg_0");
  assert.deepEqual(await attempts.find(message("first")), first);
});

test("the text is not noted, but can be compared, also as Messages may have normalised it", async () => {
  const { begin, kept } = await stage();
  const attempt = await begin(message("a"));
  assert.doesNotMatch(JSON.stringify(kept.noted), /Hello/);
  assert.ok(matchesText(attempt, "Hello\n there"));
  assert.ok(matchesText(attempt, "\ufffcHello\r\n there "));
  assert.ok(!matchesText(attempt, "hello\n there"));
  assert.notEqual(attempt.digest, createAttempt(message("b"), 0).digest);
});

test("a row belongs to the attempt that took it first, also for the next process and if Messages failed at it", async () => {
  const { attempts, begin, conclude, start } = await stage();
  const [first, second] = [await begin(message("a")), await begin(message("b"))];
  const claims = await Promise.all([attempts.claim(first, "G-1"), attempts.claim(second, "G-1")]);
  assert.deepEqual(claims, [true, false]);
  assert.ok(await attempts.claim(first, "G-1"), "it is the attempt's own");
  assert.ok(await attempts.claim(second, "G-2"));
  conclude(message("a"), { outcome: "accepted", reference: "G-1" });
  conclude(message("b"), { outcome: "rejected", code: "22", reason: "refused", reference: "G-2" });
  const later = start();
  const third = createAttempt(message("c"), 0);
  assert.deepEqual([...(await later.othersOf(third, ["G-1", "G-2", "G-3"]))], ["G-1", "G-2"]);
  assert.equal(await later.claim(third, "G-2"), false);
});

test("rows that a dead process noted are not taken for another message with an equal text", async () => {
  const { attempts, begin, start } = await stage();
  await attempts.textSent(await begin(message("a"), TEXT), "G-1");
  const later = start();
  assert.equal(await later.claim(createAttempt(message("b"), 0), "G-1"), false);
  assert.ok(await later.claim(createAttempt(message("b"), 0), "G-2"));
});

test("the text's row is not taken for the files", async () => {
  const { attempts, begin } = await stage();
  const text = await begin(message("a"), TEXT);
  assert.ok(await attempts.claim(text, "G-1"));
  await attempts.textSent(text, "G-1");
  const files = await begin(message("a"), { step: "files", files: 1, chatGuid: "iMessage;-;x" });
  assert.equal(files.textGuid, "G-1");
  assert.equal(await attempts.claim(files, "G-1"), false);
});

test("an attempt that was given up keeps its note until it is settled, for seven days at most", async () => {
  const { attempts, begin, clock, kept, start } = await stage();
  const [sent, failed] = [await begin(message("a")), await begin(message("b"))];
  await begin(message("c"));
  await attempts.settle(sent);
  await attempts.settle(failed, "G-2");
  assert.deepEqual(
    kept.noted.map(({ messageId }) => messageId),
    ["msg_c"],
  );
  assert.deepEqual([...kept.known(["G-2"])], ["G-2"]);
  await clock.advance(7 * 24 * HOUR_MS);
  const later = start();
  await later.sweep();
  assert.equal(kept.noted.length, 1);
  await clock.advance(1);
  await later.sweep();
  assert.deepEqual([kept.noted, later.unresolved], [[], []]);
});

test("the end of an earlier request does not change the current one", async () => {
  const { attempts, begin, clock } = await stage();
  const first = await begin(message("a"));
  await clock.advance(1);
  const second = await begin(message("a", 6));
  attempts.rowFound(first, { guid: "G-1", error: 0 });
  attempts.notSent(first);
  attempts.release(message("a"));
  assert.deepEqual(await attempts.find(message("a", 6)), second);
});

test("a begin that could not be noted does not count", async () => {
  const { attempts, begin, disk } = await stage();
  disk.isFull = true;
  await assert.rejects(begin(message("b")), /full/);
  assert.equal(await attempts.find(message("b")), null);
});

test("a note of another version or purpose is read as far as possible, or left alone", () => {
  const noted = { messageId: "msg_z", channel: "sms", attemptedAt: 5, reference: null } as const;
  for (const note of ["{", "null", '{"sentAt":5}']) assert.equal(parseNote({ ...noted, note }), null);
  const note = JSON.stringify({ attempt: 1, startedAt: 7, step: "future", more: true });
  assert.equal(parseNote({ ...noted, reference: "G-1", note }), null);
  const { messageId, channel, startedAt, step, isOpen } = parseNote({ ...noted, note }) ?? assert.fail();
  assert.deepEqual([messageId, channel, startedAt, step, isOpen], ["msg_z", "sms", 7, "whole", true]);
});
