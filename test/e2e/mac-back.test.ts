/** A Mac that was away and says hello: what waits for it leaves then, and not when the service next looks by itself. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { stageMacService } from "../support/mac-stage.ts";
import { until } from "../support/wait.ts";

const ANNA = "+15005551001";
const MINUTE_MS = 60_000;
/** The service waits longer than this between two checks of a Mac that is down. */
const NEXT_CHECK_MS = 2_000;

for (const away of ["unreachable", "helperGone"] as const) {
  test(`a text that waits for a Mac (${away}) leaves when the Mac reports an event, while no check is due`, async (t) => {
    const stage = await stageMacService(t, { ingest: "webhook", habit: "delivers" });
    stage.mac.knows(ANNA);
    const lift = stage.mac.fault(away);
    const id = await stage.send(ANNA);
    await stage.health("unhealthy");
    stage.clock.heldFromMs = NEXT_CHECK_MS;
    await stage.pass(5 * MINUTE_MS, 5_000);
    assert.deepEqual([(await stage.ok("GET", `/v1/messages/${id}`)).status, stage.mac.sent.length], ["queued", 0]);

    lift();
    if (away === "helperGone") stage.mac.phone(ANNA).writes("Are you there?");
    await until(() => stage.mac.sent.length === 1, { what: "the waiting text" });
    await stage.reached(id, "delivered");
    assert.equal(stage.mac.sent.length, 1);
  });
}
