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
  const heard = new InboundJournal(disk, clock);
  return {
    disk,
    clock,
    heard,
    hear: async (digest: string, session: { isBound: boolean }) => {
      sessions.note(session, clock.real());
      const one = heard.begin(digest, session);
      await heard.keep(one);
      return one;
    },
    pass: async (ms: number) => {
      await clock.advance(ms);
      await heard.sweep(sessions.since());
    },
  };
}

test("on one session the same content is two messages, unless the first was refused or waited too long", async () => {
  const { clock, heard, hear } = stage();
  const session = { isBound: true };
  const first = await hear("ok", session);
  assert.notEqual((await hear("ok", session)).reference, first.reference, "both at once");
  heard.answered(first, "taken");
  assert.notEqual((await hear("ok", session)).reference, first.reference, "one after the other");
  const refused = await hear("no", session);
  heard.answered(refused, "refused");
  assert.equal((await hear("no", session)).reference, refused.reference);
  const waiting = await hear("hm", session);
  await clock.advance(4_000);
  assert.equal((await hear("hm", session)).reference, waiting.reference);
});

test("on another session the same content is the same message, each of two once", async () => {
  const { heard, hear } = stage();
  const session = { isBound: true };
  const both = [await hear("ok", session), await hear("ok", session)];
  for (const one of both) heard.answered(one, "taken");
  const names = new Set(both.map(({ reference }) => reference));
  session.isBound = false;
  const other = { isBound: true };
  const again = [await hear("ok", other), await hear("ok", other)].map((one) => {
    heard.answered(one, "taken");
    return one.reference;
  });
  assert.deepEqual(new Set(again), names);
  assert.equal(names.has((await hear("ok", other)).reference), false, "the third is new");
});

test("an answered message is forgotten while its session is bound, and is new when it comes again", async () => {
  const { disk, heard, hear, pass } = stage();
  const session = { isBound: true };
  const first = await hear("ok", session);
  heard.answered(first, "taken");
  assert.equal(disk.entries.size, 1);
  await pass(30_000);
  assert.equal(disk.entries.size, 0);
  session.isBound = false;
  assert.notEqual((await hear("ok", { isBound: true })).reference, first.reference);
});

test("an answered message of an ended session is remembered until the next session is five minutes old", async () => {
  const { disk, heard, hear, pass } = stage();
  const session = { isBound: true };
  heard.answered(await hear("ok", session), "taken");
  session.isBound = false;
  await pass(60 * MINUTE);
  assert.equal(disk.entries.size, 1, "an outage is no reason to forget");
  const other = { isBound: true };
  heard.answered(await hear("other", other), "taken");
  await pass(5 * MINUTE - 1);
  assert.equal([...disk.entries.values()].filter((value) => value.includes('"ok"')).length, 1);
  await pass(1);
  assert.equal(disk.entries.size, 0);
});

test("after a restart the messages of the last process are recognised, and unreadable entries are deleted", async () => {
  const { disk, clock, hear } = stage();
  const first = await hear("ok", { isBound: true });
  disk.entries.set("heard/junk", "{");
  const next = new InboundJournal(disk, clock);
  await next.load();
  assert.equal(disk.entries.has("heard/junk"), false);
  assert.equal(next.begin("ok", { isBound: true }).reference, first.reference);
});

test("a message that could not be stored is stored at the next try, and is recognised when it comes again", async () => {
  const { disk, heard } = stage();
  const session = { isBound: true };
  const one = heard.begin("ok", session);
  disk.fails = true;
  await assert.rejects(heard.keep(one));
  assert.equal(heard.begin("ok", { isBound: true }), one, "over the next session");
  disk.fails = false;
  await heard.keep(one);
  await heard.keep(one);
  assert.equal(disk.entries.size, 1);
});
