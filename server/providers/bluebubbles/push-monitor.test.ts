/** Tests of the warning that BlueBubbles responds to requests and pushes no events any more. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ANNA, stageMacProvider } from "../../../test/support/mac-provider.ts";

const MINUTE = 60_000;

for (const ingest of ["webhook", "socket"] as const) {
  test(`by ${ingest}: health says to restart BlueBubbles when only backfill finds messages, until one is pushed`, async (t) => {
    const stage = await stageMacProvider(t, { ingest });
    const warnings = async () => (await stage.provider.health()).warnings ?? [];
    await stage.pass(2 * MINUTE);
    stage.mac.fault("eventsLost");
    for (const text of ["one", "two"]) stage.mac.phone(ANNA).writes(text);
    await stage.pass(2 * MINUTE);
    assert.deepEqual(await warnings(), [], "two may be an accident");
    stage.mac.phone(ANNA).writes("three");
    await stage.pass(2 * MINUTE);
    assert.equal(stage.of("inbound").length, 3);
    assert.match((await warnings()).join(" "), /sends no events for them: restart BlueBubbles/);
    assert.equal((await stage.provider.health()).status, "degraded");
    stage.mac.lift("eventsLost");
    stage.mac.phone(ANNA).writes("four");
    await stage.idle();
    assert.deepEqual(await warnings(), []);
  });
}

test("messages that arrived while the Mac was unreachable, or the service stopped, cause no warning", async (t) => {
  const stage = await stageMacProvider(t, { ingest: "webhook" });
  await stage.pass(2 * MINUTE);
  stage.mac.fault("unreachable");
  await stage.pass(MINUTE);
  for (const text of ["one", "two", "three"]) stage.mac.phone(ANNA).writes(text);
  stage.mac.lift("unreachable");
  for (let minutes = 0; minutes < 4; minutes += 1) await stage.pass(MINUTE);
  assert.equal(stage.of("inbound").length, 3);
  assert.deepEqual((await stage.provider.health()).warnings ?? [], []);
});
