/** A Mac whose watch of its database is dead: everything answers, and nothing is pushed. Its operator is told what to do. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ANNA, startListening } from "../../../test/support/listening.ts";

const MINUTE = 60_000;

for (const ingest of ["webhook", "socket"] as const) {
  test(`by ${ingest}: health says to restart BlueBubbles when only catching up finds messages, until one is pushed`, async (t) => {
    const heard = await startListening(t, { ingest });
    const warnings = async () => (await heard.provider.health()).warnings ?? [];
    await heard.pass(2 * MINUTE);
    heard.mac.fault("eventsLost");
    for (const text of ["one", "two"]) heard.mac.phone(ANNA).writes(text);
    await heard.pass(2 * MINUTE);
    assert.deepEqual(await warnings(), [], "two may be an accident");
    heard.mac.phone(ANNA).writes("three");
    await heard.pass(2 * MINUTE);
    assert.equal(heard.of("inbound").length, 3);
    assert.match((await warnings()).join(" "), /pushes none of them: restart BlueBubbles/);
    assert.equal((await heard.provider.health()).status, "degraded");
    heard.mac.lift("eventsLost");
    heard.mac.phone(ANNA).writes("four");
    await heard.settled();
    assert.deepEqual(await warnings(), []);
  });
}

test("what came in while the Mac could not be reached, or nobody listened, says nothing of its watch", async (t) => {
  const heard = await startListening(t, { ingest: "webhook" });
  await heard.pass(2 * MINUTE);
  heard.mac.fault("unreachable");
  await heard.pass(MINUTE);
  for (const text of ["one", "two", "three"]) heard.mac.phone(ANNA).writes(text);
  heard.mac.lift("unreachable");
  for (let minutes = 0; minutes < 4; minutes += 1) await heard.pass(MINUTE);
  assert.equal(heard.of("inbound").length, 3);
  assert.deepEqual((await heard.provider.health()).warnings ?? [], []);
});
