/** Tests of which processes are woken for which work, and of what is collected while a wake is on its way. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { turns } from "../../../test/support/engine.ts";
import type { MemberWake } from "../../core/member-wake.ts";
import type { Member } from "../../store/members.ts";
import { MemberWakes } from "./member-wakes.ts";

const OWN: Member = { id: "member_own", role: "all", url: "http://own" };
const OTHER: Member = { id: "member_other", role: "worker", url: "http://other" };
const THIRD: Member = { id: "member_third", role: "worker", url: "http://third" };

/** Processes of which each is the place of the lanes that begin with its letter. A wake is on its way until it is ended. */
function scene({ isAlone = false, places = { o: OTHER, t: THIRD, s: OWN } as Record<string, Member | null> } = {}) {
  const sent: { url: string; wake: MemberWake | "all"; end: (error?: Error) => void }[] = [];
  const placeOf = (lane: string) => places[lane[0] ?? ""] ?? null;
  const wakes = new MemberWakes({
    membership: { member: OWN, isAlone, others: () => [OTHER, THIRD], ownerOf: placeOf, ownerOfLane: placeOf },
    send: (url, wake) =>
      new Promise((resolve, reject) => {
        sent.push({ url, wake, end: (error) => (error === undefined ? resolve() : reject(error)) });
      }),
  });
  const named = () => sent.map(({ url, wake }) => [url, wake]);
  return { wakes, sent, named, places };
}

const wakeOf = (more: Partial<Record<keyof MemberWake, string[]>>) =>
  ({ messages: [], deliveries: [], atOnce: [], ...more }) as MemberWake;

test("the owner of an instance and the owner of a lane are woken at once, by one wake for all that one turn adds", async () => {
  const { wakes, named } = scene();
  wakes.messages(["o1", "t1"]);
  wakes.deliveries(["o2", "o3"], ["dlv_1"]);
  await turns(1);
  assert.deepEqual(named(), [
    ["http://other", wakeOf({ messages: ["o1"], deliveries: ["o2", "o3"], atOnce: ["dlv_1"] })],
    ["http://third", wakeOf({ messages: ["t1"] })],
  ]);
});

test("nobody is woken for the lanes of this process, for lanes without a place, and for a process that nobody can reach", async () => {
  const { wakes, sent, places } = scene();
  places.u = { ...OTHER, url: null };
  for (const lane of ["s1", "x1", "u1"]) {
    wakes.messages([lane]);
    wakes.deliveries([lane], ["dlv_1"]);
  }
  const alone = scene({ isAlone: true });
  alone.wakes.messages(["o1"]);
  await turns(2);
  assert.deepEqual([sent, alone.sent], [[], []]);
});

test("while a wake is on its way, further ones are collected and go as one, each name once", async () => {
  const { wakes, sent, named } = scene();
  wakes.messages(["o1"]);
  await turns(1);
  for (let round = 0; round < 3; round += 1) {
    wakes.messages(["o1", "o2"]);
    wakes.deliveries([`o${round}`]);
    await turns(1);
  }
  assert.equal(sent.length, 1);
  sent[0]?.end();
  await turns(1);
  assert.deepEqual(named().slice(1), [
    ["http://other", wakeOf({ messages: ["o1", "o2"], deliveries: ["o0", "o1", "o2"] })],
  ]);
  sent[1]?.end();
  await turns(1);
  assert.equal(sent.length, 2, "nothing is repeated");
  wakes.messages(["o3"]);
  await turns(1);
  assert.equal(sent.length, 3, "the next one goes at once");
});

test("a wake of more than 1,000 names says that any lane may have something due, and the next one names again", async () => {
  const { wakes, sent, named } = scene();
  wakes.deliveries(Array.from({ length: 999 }, (_, index) => `o${index}`));
  wakes.messages(["o0"]);
  await turns(1);
  const [first] = sent;
  assert.ok(first !== undefined && first.wake !== "all");
  assert.equal(first.wake.deliveries.length + first.wake.messages.length, 1_000);
  wakes.deliveries(Array.from({ length: 1_000 }, (_, index) => `o${index}`));
  wakes.deliveries(["o1000"]);
  wakes.messages(["o1"]);
  first.end();
  await turns(1);
  assert.deepEqual(named()[1], ["http://other", "all"]);
  wakes.messages(["o1"]);
  sent[1]?.end();
  await turns(1);
  assert.deepEqual(named()[2], ["http://other", wakeOf({ messages: ["o1"] })]);
});

test("a process that hangs holds up no wake of another one", async () => {
  const { wakes, named } = scene();
  wakes.messages(["o1"]);
  await turns(1);
  wakes.messages(["o2", "t1"]);
  await turns(1);
  assert.deepEqual(
    named().map(([url]) => url),
    ["http://other", "http://third"],
  );
});

test("a wake that is lost is not repeated, and the next one goes", async () => {
  const { wakes, sent, named } = scene();
  wakes.messages(["o1"]);
  await turns(1);
  sent[0]?.end(new Error("the connection was refused"));
  await turns(1);
  assert.equal(sent.length, 1);
  wakes.messages(["o2"]);
  await turns(1);
  assert.deepEqual(named()[1], ["http://other", wakeOf({ messages: ["o2"] })]);
});

test("a wake goes to the address that its process was told to have last", async () => {
  const { wakes, sent, places } = scene();
  wakes.messages(["o1"]);
  await turns(1);
  places.o = { ...OTHER, url: "http://moved" };
  wakes.messages(["o2"]);
  sent[0]?.end();
  await turns(1);
  assert.equal(sent[1]?.url, "http://moved");
});

test("a stop sends nothing more, also of what was collected", async () => {
  const { wakes, sent } = scene();
  wakes.messages(["o1"]);
  await turns(1);
  wakes.messages(["o2", "t1"]);
  wakes.stop();
  wakes.messages(["o3"]);
  sent[0]?.end();
  await turns(2);
  assert.equal(sent.length, 1);
});
