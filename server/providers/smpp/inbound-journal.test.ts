import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { Disk } from "../../../test/support/smsc/instance.ts";
import { ActiveSessions, InboundJournal } from "./inbound-journal.ts";

const MINUTE = 60_000;

function stage() {
  const disk = new Disk();
  const clock = new SimulatedClock();
  const sessions = new ActiveSessions();
  const journal = new InboundJournal(disk, clock);
  return {
    disk,
    clock,
    journal,
    receive: async (digest: string, session: { isBound: boolean }) => {
      sessions.note(session, clock.real());
      const one = journal.begin(digest, session);
      await journal.keep(one);
      return one;
    },
    pass: async (ms: number) => {
      await clock.advance(ms);
      await journal.sweep(sessions.since());
    },
  };
}

test("on one session the same content is two messages, unless the first was refused or waited too long", async () => {
  const { clock, journal, receive } = stage();
  const session = { isBound: true };
  const first = await receive("ok", session);
  assert.notEqual((await receive("ok", session)).reference, first.reference, "both at once");
  journal.answered(first, "taken");
  assert.notEqual((await receive("ok", session)).reference, first.reference, "one after the other");
  const refused = await receive("no", session);
  journal.answered(refused, "refused");
  assert.equal((await receive("no", session)).reference, refused.reference);
  const waiting = await receive("hm", session);
  await clock.advance(4_000);
  assert.equal((await receive("hm", session)).reference, waiting.reference);
});

test("on another session the same content is the same message, each of two once", async () => {
  const { journal, receive } = stage();
  const session = { isBound: true };
  const both = [await receive("ok", session), await receive("ok", session)];
  for (const one of both) journal.answered(one, "taken");
  const names = new Set(both.map(({ reference }) => reference));
  session.isBound = false;
  const other = { isBound: true };
  const again = [await receive("ok", other), await receive("ok", other)].map((one) => {
    journal.answered(one, "taken");
    return one.reference;
  });
  assert.deepEqual(new Set(again), names);
  assert.equal(names.has((await receive("ok", other)).reference), false, "the third is new");
});

test("an answered message is forgotten while its session is bound, and is new when it comes again", async () => {
  const { disk, journal, receive, pass } = stage();
  const session = { isBound: true };
  const first = await receive("ok", session);
  journal.answered(first, "taken");
  assert.equal(disk.entries.size, 1);
  await pass(30_000);
  assert.equal(disk.entries.size, 0);
  session.isBound = false;
  assert.notEqual((await receive("ok", { isBound: true })).reference, first.reference);
});

test("an answered message of an ended session is remembered until the next session is five minutes old", async () => {
  const { disk, journal, receive, pass } = stage();
  const session = { isBound: true };
  journal.answered(await receive("ok", session), "taken");
  session.isBound = false;
  await pass(60 * MINUTE);
  assert.equal(disk.entries.size, 1, "an outage is no reason to forget");
  const other = { isBound: true };
  journal.answered(await receive("other", other), "taken");
  await pass(5 * MINUTE - 1);
  assert.equal([...disk.entries.values()].filter((value) => value.includes('"ok"')).length, 1);
  await pass(1);
  assert.equal(disk.entries.size, 0);
});

test("after a restart the messages of the last process are recognised, and unreadable entries are deleted", async () => {
  const { disk, clock, receive } = stage();
  const first = await receive("ok", { isBound: true });
  disk.entries.set("heard/junk", "{");
  const next = new InboundJournal(disk, clock);
  await next.load();
  assert.equal(disk.entries.has("heard/junk"), false);
  assert.equal(next.begin("ok", { isBound: true }).reference, first.reference);
});

test("a message that could not be stored is stored at the next try, and is recognised when it comes again", async () => {
  const { disk, journal } = stage();
  const session = { isBound: true };
  const one = journal.begin("ok", session);
  disk.fails = true;
  await assert.rejects(journal.keep(one));
  assert.equal(journal.begin("ok", { isBound: true }), one, "over the next session");
  disk.fails = false;
  await journal.keep(one);
  await journal.keep(one);
  assert.equal(disk.entries.size, 1);
});
