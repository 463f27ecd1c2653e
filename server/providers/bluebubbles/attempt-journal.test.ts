/** Tests of the attempt journal: what it keeps, for how long, and that it keeps no text. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { mapMemory } from "../../../test/support/mac-outbound.ts";
import { outboundMessage } from "../../../test/support/outbound.ts";
import type { MessageId } from "../../core/id.ts";
import { AttemptJournal, createAttempt, matchesText } from "./attempt-journal.ts";

const WHOLE = { step: "whole", files: 0, chatGuid: "iMessage;-;+15551230001" } as const;
const HOUR_MS = 3_600_000;

function message(id: string, attempt = 1) {
  return outboundMessage({
    messageId: `msg_${id}` as MessageId,
    to: "+15551230001",
    text: "Hello\r\n there ",
    attempt,
  });
}

async function stage() {
  const clock = new SimulatedClock();
  const entries = new Map<string, string>();
  const disk = { isFull: false };
  const begin = async () => {
    const attempts = new AttemptJournal(mapMemory(entries, disk), clock);
    await attempts.load();
    return attempts;
  };
  return { clock, entries, disk, begin, attempts: await begin() };
}

test("begun and ended attempts are the same for the next process", async () => {
  const { attempts, begin, clock } = await stage();
  const first = await attempts.begin(message("a"), WHOLE);
  await clock.advance(5);
  const second = await attempts.begin(message("b"), { ...WHOLE, step: "text", files: 0, chatGuid: null });
  await attempts.recordRow(second, { guid: "G-1", error: 0 });
  const third = await attempts.begin(message("c"), WHOLE);
  await attempts.recordRow(third, { guid: "G-2", error: 22 });
  const later = await begin();
  for (const id of ["a", "b", "c"]) assert.deepEqual(later.latest(message(id)), attempts.latest(message(id)), id);
  assert.deepEqual(later.unresolved, [first]);
  assert.deepEqual(
    ["G-1", "G-2", "G-3"].map((guid) => later.isKnownRow(guid)),
    [true, true, false],
  );
  assert.equal(later.latest(message("b"))?.textGuid, "G-1");
  assert.deepEqual([later.latest(message("c"))?.guid, later.latest(message("c"))?.error], ["G-2", 22]);
});

test("the text is not stored, but can be compared, also as Messages may have normalised it", async () => {
  const { attempts, entries } = await stage();
  const attempt = await attempts.begin(message("a"), WHOLE);
  assert.doesNotMatch([...entries.values()].join(), /Hello/);
  assert.ok(matchesText(attempt, "Hello\n there"));
  assert.ok(matchesText(attempt, "\ufffcHello\r\n there "));
  assert.ok(!matchesText(attempt, "hello\n there"));
  assert.notEqual(attempt.digest, createAttempt(message("b"), 0).digest);
});

test("ended attempts expire after an hour, but not while an open one may need them, and not at a start", async () => {
  const { attempts, entries, clock, begin } = await stage();
  await attempts.recordRow(await attempts.begin(message("a"), WHOLE), { guid: "G-1", error: 0 });
  await clock.advance(1_200_000);
  await attempts.begin(message("open"), WHOLE);
  await attempts.recordRow(await attempts.begin(message("b"), WHOLE), { guid: "G-2", error: 0 });
  await clock.advance(2 * HOUR_MS);
  const later = await begin();
  assert.equal(entries.size, 3);
  assert.ok(later.covers(clock.real() - 2 * HOUR_MS));
  await clock.advance(600_001);
  await later.begin(message("c"), WHOLE);
  await clock.advance(0);
  assert.equal(later.latest(message("a")), null);
  assert.equal(later.isKnownRow("G-1"), false);
  assert.equal(later.latest(message("b"))?.guid, "G-2");
  assert.ok(!later.covers(clock.real() - 2 * HOUR_MS));
  assert.ok(later.covers(clock.real() - HOUR_MS));
  assert.deepEqual([...entries.keys()].sort(), [
    "attempt/msg_b/imessage",
    "attempt/msg_c/imessage",
    "attempt/msg_open/imessage",
  ]);
});

test("an attempt sent in part is kept as long as its message may wait", async () => {
  const { attempts, clock } = await stage();
  const half = await attempts.begin(message("half"), { step: "text", files: 0, chatGuid: null });
  await attempts.recordRow(half, { guid: "G-1", error: 0 });
  for (let hour = 0; hour < 73; hour += 1) {
    await clock.advance(HOUR_MS);
    await attempts.recordNotSent(await attempts.begin(message("other"), WHOLE));
  }
  assert.equal(attempts.latest(message("half"))?.textGuid, "G-1");
  const files = await attempts.begin(message("half", 2), { step: "files", files: 1, chatGuid: "iMessage;-;x" });
  assert.equal(files.textGuid, "G-1");
});

test("the outcome of an earlier attempt does not change the current one", async () => {
  const { attempts, clock } = await stage();
  const first = await attempts.begin(message("a"), WHOLE);
  await clock.advance(1);
  const second = await attempts.begin(message("a", 2), WHOLE);
  await attempts.recordRow(first, { guid: "G-1", error: 0 });
  await attempts.recordNotSent(first);
  assert.deepEqual(attempts.latest(message("a")), second);
  assert.ok(attempts.isKnownRow("G-1"));
});

test("a begin that could not be stored does not count; an end that could not be stored does", async () => {
  const { attempts, disk } = await stage();
  const begun = await attempts.begin(message("a"), WHOLE);
  disk.isFull = true;
  await assert.rejects(attempts.begin(message("b"), WHOLE), /full/);
  assert.equal(attempts.latest(message("b")), null);
  await assert.rejects(attempts.recordRow(begun, { guid: "G-1", error: 0 }), /full/);
  assert.equal(attempts.latest(message("a"))?.guid, "G-1");
});

test("a record that cannot be parsed blocks nothing", async () => {
  const { entries, begin } = await stage();
  entries.set("attempt/msg_x/imessage", "{");
  entries.set("attempt/msg_y/imessage", "null");
  entries.set("attempt/msg_z/sms", JSON.stringify({ attempt: 1, startedAt: 5, step: "future", more: true }));
  const attempts = await begin();
  assert.deepEqual(
    attempts.unresolved.map(({ messageId, channel, step }) => [messageId, channel, step]),
    [["msg_z", "sms", "whole"]],
  );
});
