/** Rendezvous hashing: names spread evenly, and only those of a member that comes or goes move. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { homeAmong } from "./rendezvous.ts";

const NAMES = Array.from(
  { length: 8_000 },
  (_, index) => `wh_00000000-0000-7000-8000-${String(index).padStart(12, "0")}`,
);
const MEMBERS = ["member_a", "member_b", "member_c", "member_d"];

test("names have one home, whatever the order of the members, and none without members", () => {
  for (const name of NAMES.slice(0, 500))
    assert.equal(homeAmong(name, MEMBERS), homeAmong(name, MEMBERS.toReversed()), name);
  assert.equal(homeAmong("any", []), null);
  assert.equal(homeAmong("any", ["only"]), "only");
});

test("four members have a quarter of the names each, within a tenth", () => {
  const counts = Map.groupBy(NAMES, (name) => homeAmong(name, MEMBERS));
  const share = NAMES.length / MEMBERS.length;
  for (const member of MEMBERS) {
    const count = counts.get(member)?.length ?? 0;
    assert.ok(Math.abs(count - share) < share / 10, `${member} has ${count}`);
  }
});

test("when a member goes, only its own names move", () => {
  const left = MEMBERS.slice(1);
  for (const name of NAMES) {
    const before = homeAmong(name, MEMBERS);
    if (before !== "member_a") assert.equal(homeAmong(name, left), before);
  }
});
