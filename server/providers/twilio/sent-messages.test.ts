import assert from "node:assert/strict";
import { test } from "node:test";
import { AttemptsKept, attemptsIn } from "../../../test/support/attempts.ts";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { outboundMessage } from "../../../test/support/outbound.ts";
import type { MessageId } from "../../core/id.ts";
import { type SentMessage, SentMessages } from "./sent-messages.ts";

function id(number: number): MessageId {
  return `msg_00000000-0000-7000-8000-${String(number).padStart(12, "0")}`;
}

function stage(kept = new AttemptsKept(), keptMax = 100) {
  const watched = new Map<SentMessage, boolean>();
  const events = {
    added: (sent: SentMessage, isOld: boolean) => void watched.set(sent, isOld),
    removed: (sent: SentMessage) => void watched.delete(sent),
  };
  const clock = new SimulatedClock();
  const sent = new SentMessages({ attempts: attemptsIn(kept), clock, events, keptMax });
  /** An attempt that begins, and the outcome that the engine commits. */
  const begin = (number: number, attemptedAt = 5) =>
    kept.begin(outboundMessage({ messageId: id(number), to: "+15550100001", attemptedAt }));
  const accept = (number: number, sid: string, attemptedAt = 5) => {
    const added = sent.add(id(number), attemptedAt, sid);
    const message = outboundMessage({ messageId: id(number), to: "+15550100001", attemptedAt });
    kept.conclude(message, { outcome: "accepted", reference: sid, note: () => sent.noteOf(added) });
    return added;
  };
  return { kept, watched, sent, begin, accept };
}

test("an accepted message is on disk with its outcome until it has ended, and its sid is known for ever", async () => {
  const first = stage();
  first.accept(1, "SM1");
  await first.sent.end(first.accept(2, "SM2"));
  const second = stage(first.kept);
  await second.sent.load();
  assert.equal(second.sent.find(id(1), 5)?.sid, "SM1");
  assert.equal(second.sent.find(id(2), 5), null);
  assert.deepEqual([...(await second.sent.knownAmong(["SM1", "SM2", "SM3"]))], ["SM1", "SM2"]);
  assert.deepEqual(
    [...second.watched].map(([{ sid }, isOld]) => [sid, isOld]),
    [["SM1", true]],
  );
});

test("a callback before the response is on disk at once, and is the same message as the response", async () => {
  const { kept, sent, watched, begin, accept } = stage();
  begin(1);
  const [a, b] = await Promise.all([sent.called(id(1), 5, "SM1"), sent.called(id(1), 5, "SM1")]);
  assert.equal(a, b);
  const next = stage(kept);
  await next.sent.load();
  assert.deepEqual([next.sent.find(id(1), 5)?.sid, next.sent.find(id(1), 5)?.hasResponse], ["SM1", false]);
  assert.equal(accept(1, "SM1"), a);
  assert.deepEqual([a.hasResponse, watched.size, kept.noted.length], [true, 1, 1]);
});

test("attempts of one message are kept apart, and a callback of an attempt that ended notes nothing", async () => {
  const { kept, sent, accept } = stage();
  accept(1, "SM1");
  accept(1, "SM2", 9);
  assert.deepEqual([sent.find(id(1), 5)?.sid, sent.find(id(1), 9)?.sid], ["SM1", "SM2"]);
  await sent.called(id(2), 5, "SM3");
  assert.equal(sent.find(id(2), 5)?.sid, "SM3");
  assert.deepEqual(
    kept.noted.map(({ reference }) => reference),
    ["SM1", "SM2"],
  );
});

test("beyond the limit the oldest message is forgotten, and a note that cannot be read is not loaded", async () => {
  const { kept, sent, watched, begin, accept } = stage(new AttemptsKept(), 3);
  begin(9);
  kept.note({ messageId: id(9), attemptedAt: 5 }, "not JSON");
  await sent.load();
  for (let number = 1; number <= 5; number += 1) accept(number, `SM${number}`);
  assert.deepEqual(
    [...watched.keys()].map(({ sid }) => sid),
    ["SM3", "SM4", "SM5"],
  );
  await new Promise(setImmediate);
  assert.deepEqual(
    kept.noted.map(({ reference }) => reference),
    [null, "SM3", "SM4", "SM5"],
  );
});

test("a message that ended without its response leaves no note, even if another attempt followed it", async () => {
  const { kept, sent, begin } = stage();
  begin(1);
  const called = await sent.called(id(1), 5, "SM1");
  begin(1, 6);
  await sent.end(called, true);
  assert.deepEqual(kept.noted, []);
});
