/** Lookups after a restore: the Mac may have sent a message of which no record is left, so the Mac is asked and not the records. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { stageMac } from "../../../test/support/mac-outbound.ts";
import { reference } from "../../../test/support/mac-sends.ts";

test("a message that the Mac sent after the backup is found, though no record of it is left", async (t) => {
  const stage = await stageMac(t);
  const message = stage.message({ text: "Sent since" });
  stage.fake.knows(message.to);
  const guid = reference(await stage.send({ ...message, attemptedAt: stage.clock.now() + 5_000 }));
  await stage.process.stop();
  stage.entries.clear();
  stage.attempts.forgetAll();
  await stage.restart();
  await stage.clock.advance(3_600_000);
  const found = await stage.reconcile({ ...message, attempt: 2, unrecorded: true });
  assert.equal(reference(found), guid);
  assert.equal(stage.fake.sent.length, 1);
});

test("another text to the same person is not taken for the message", async (t) => {
  const stage = await stageMac(t);
  const message = stage.message({ text: "Never sent" });
  stage.fake.knows(message.to);
  await stage.send(stage.message({ text: "Something else" }));
  await stage.process.stop();
  stage.entries.clear();
  stage.attempts.forgetAll();
  await stage.restart();
  await stage.clock.advance(3_600_000);
  const outcome = await stage.reconcile({ ...message, attempt: 2, unrecorded: true });
  assert.ok(outcome === "absent" || outcome.outcome === "unknown", JSON.stringify(outcome));
});
