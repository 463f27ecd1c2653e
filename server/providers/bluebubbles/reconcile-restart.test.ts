/** Tests of attempts during which BlueBubbles restarted: it has forgotten the request, and Messages may still have the command. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Stage, stageMac } from "../../../test/support/mac-outbound.ts";
import { posts, reconciled, reference } from "../../../test/support/mac-sends.ts";
import type { Outbound } from "../provider.ts";

const TO = "+15551230001";

/** Sends a message to which the Mac does not respond, until its request, the second one, is posted. */
async function postsAndHangs(stage: Stage, message: Outbound): Promise<void> {
  void stage.process.sender.send(message, new AbortController().signal);
  for (let steps = 0; steps < 40 && posts(stage).length < 2; steps += 1) {
    await stage.fake.idle();
    await stage.clock.advance(250);
  }
  assert.equal(posts(stage).length, 2, "it is posted, and hangs");
}

/** The connection to the Mac breaks, and is there again. */
async function isGoneForAMoment(stage: Stage): Promise<void> {
  stage.fake.fault("unreachable");
  await stage.driven(stage.process.mac.health.ready());
  stage.fake.lift("unreachable");
  await stage.fake.ready();
}

for (const broke of [true, false]) {
  test(`a message posted to a server that ${broke ? "restarted" : "only claims to have restarted"} is absent after ${broke ? "75 s" : "190 s"}`, async (t) => {
    const stage = await stageMac(t);
    stage.fake.knows(TO);
    reference(await stage.send(stage.message({ text: "Before" })));
    stage.fake.fault("hangs");
    const message = stage.message({ text: "In the middle" });
    await postsAndHangs(stage, message);
    await stage.clock.advance(1_000);
    await stage.restart({ dies: true });
    if (broke) {
      await isGoneForAMoment(stage);
    }
    stage.process.mac.client.noteRestart();
    const askedAt = stage.clock.now();
    const outcome = await reconciled(stage, message);
    assert.equal(outcome, "absent");
    const tookMs = stage.clock.now() - askedAt;
    assert.ok(broke ? tookMs >= 75_000 && tookMs <= 90_000 : tookMs >= 190_000, `${tookMs} ms`);
    assert.equal(stage.fake.sent.length, 1);
  });
}

for (const rowAfterMs of [5_000, 25_000, 45_000, 60_000]) {
  test(`a message whose row a stuck Messages writes ${rowAfterMs / 1_000} s after a restart of BlueBubbles is sent once`, async (t) => {
    const stage = await stageMac(t);
    stage.fake.knows(TO);
    reference(await stage.send(stage.message({ text: "Before" })));
    const restartsAfterMs = 20_000;
    const postedAt = stage.clock.now();
    stage.fake.phone(TO).takesAfterMs = restartsAfterMs + rowAfterMs;
    const message = stage.message({ text: "In the middle" });
    await postsAndHangs(stage, message);
    await stage.restart({ dies: true });
    await isGoneForAMoment(stage);
    await stage.clock.advance(postedAt + restartsAfterMs - stage.clock.now());
    stage.process.mac.client.noteRestart();
    assert.equal(reference(await reconciled(stage, message)), stage.fake.sent[1]?.guid);
    assert.equal(stage.fake.sent.length, 2);
  });
}
