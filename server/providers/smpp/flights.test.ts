import assert from "node:assert/strict";
import { test } from "node:test";
import { Flights } from "./flights.ts";

const FREE = () => false;

test("a number is never given twice among those in flight, nor one that is in use elsewhere", () => {
  const flights = new Flights(0);
  const first = flights.open("msg_first", FREE);
  const elsewhere = (first.userReference % 0xffff) + 1;
  const given = new Set<number>();
  for (let count = 0; count < 70_000; count += 1) {
    const flight = flights.open("msg_next", (userReference) => userReference === elsewhere);
    assert.ok(flight.userReference >= 1 && flight.userReference <= 0xffff);
    given.add(flight.userReference);
    flights.close(flight, null);
  }
  assert.equal(given.has(first.userReference), false);
  assert.equal(given.has(elsewhere), false);
  assert.equal(given.size, 0xffff - 2);
  assert.equal(flights.find(first.userReference), first);
});

test("what came while an answer was on its way is early until that answer is there", () => {
  const flights = new Flights(0);
  assert.equal(flights.isEarly(flights.order), false);
  const first = flights.open("msg_1", FREE);
  const came = flights.order;
  const second = flights.open("msg_2", FREE);
  assert.equal(flights.isEarly(came), true);
  flights.close(second, "2");
  assert.equal(flights.isEarly(came), true);
  flights.close(first, "1");
  assert.equal(flights.isEarly(came), false);
  flights.open("msg_3", FREE);
  assert.equal(flights.isEarly(came), false, "a later flight changes nothing");
});

test("an id that two messages have at once tells nothing; one that is given again after an end is the newer one's", () => {
  const flights = new Flights(0);
  flights.give("7", "msg_1", "7");
  assert.equal(flights.isGiven("7", "msg_2"), true);
  assert.equal(flights.isGiven("7", "msg_1"), false);
  flights.end("7");
  flights.give("7", "msg_2", "tb:2");
  assert.equal(flights.byId("7")?.reference, "tb:2");
  flights.give("7", "msg_3", "tb:3");
  assert.equal(flights.byId("7"), null);
  assert.deepEqual([flights.isShared("7"), flights.sharedIds], [true, 1]);
});
