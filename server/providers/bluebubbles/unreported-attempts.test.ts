/** Tests of attempts whose outcome was lost or long unknown: receipts are polled, rows are found among many or broken ones, and no earlier attempt answers for a later one. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { stageMac } from "../../../test/support/mac-outbound.ts";
import { file, reference, restOfFiles } from "../../../test/support/mac-sends.ts";

const TO = "+15551230001";

test("an attempt whose response came and whose outcome was lost is polled by the next process", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  const message = stage.message();
  stage.disk.losesOutcomes = true;
  const outcome = await stage.send(message);
  await stage.restart({ dies: true });
  assert.deepEqual(stage.process.polled, []);
  assert.deepEqual(await stage.reconcile(message), outcome);
  assert.deepEqual(stage.process.polled, [reference(outcome)]);
});

test("an attempt is found among more rows than one response holds, and never called absent because of the others", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  reference(await stage.send(stage.message({ text: "Before" })));
  stage.fake.fault("asleep");
  const message = stage.message({ text: "Among many" });
  stage.disk.losesOutcomes = true;
  const sending = stage.process.sender.send(message, new AbortController().signal);
  for (let index = 0; index < 1_005; index += 1) stage.fake.writesByHand(TO, `by hand ${index}`);
  await stage.clock.advance(10_000);
  stage.fake.lift("asleep");
  reference(await stage.driven(sending));
  await stage.restart({ dies: true });
  assert.equal(
    reference(await stage.reconcile(message)),
    stage.fake.sent.find(({ text }) => text === "Among many")?.guid,
  );
});

test("an attempt at which BlueBubbles fails keeps no other from being reconciled", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  const other = "+15551230002";
  stage.fake.knows(other);
  stage.disk.losesOutcomes = true;
  for (const to of [TO, other]) reference(await stage.send(stage.message({ to })));
  await stage.restart({ dies: true });
  const { client, health } = stage.process.mac;
  await stage.driven(health.ready());
  const query = client.query.bind(client);
  client.query = async (path, body) =>
    JSON.stringify(body).includes(TO)
      ? { kind: "errorResponse", status: 500, type: "Server Error", message: "An unhandled error has occurred!" }
      : query(path, body);
  for (let minute = 0; minute < 12; minute += 1) {
    await stage.clock.advance(60_000);
    await stage.fake.idle();
  }
  const reported = stage.process.signals.map((signal) => (signal.kind === "receipt" ? signal.reference : signal.kind));
  assert.deepEqual(reported, [stage.fake.sent[1]?.guid]);
});

test("a text whose process died before its files were posted is polled by the next process, and its note comes with the outcome", async (t) => {
  const stage = await stageMac(t);
  stage.process.mac.client.upload = async () => ({ kind: "unreachable", reason: "ECONNREFUSED" });
  const message = stage.message({ text: "Look", attachments: [file()] });
  stage.disk.losesOutcomes = true;
  assert.equal(restOfFiles(await stage.send(message)).outcome, "deferred");
  await stage.restart({ dies: true });
  stage.disk.losesOutcomes = false;
  assert.equal(restOfFiles(await stage.reconcile({ ...message, attachments: [] })).outcome, "deferred");
  const guid = stage.fake.sent[0]?.guid ?? assert.fail();
  assert.deepEqual(stage.process.polled, [guid]);
  assert.deepEqual(
    stage.attempts.noted.map((noted) => noted.reference),
    [guid],
  );
});

test("a retry by hand whose response gets lost does not end like the attempt before it", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  stage.fake.fault("errorAtOnce");
  const message = stage.message({ text: "Once more" });
  assert.equal((await stage.send(message)).outcome, "rejected");
  await stage.clock.advance(60_000);
  // A retry by hand counts the attempts from 1 again.
  const again = { ...message, attemptedAt: stage.clock.now() };
  stage.fake.fault("answerLost");
  assert.equal((await stage.send(again)).outcome, "unknown");
  assert.equal(reference(await stage.reconcile(again)), stage.fake.sent.at(-1)?.guid);
});

test("an attempt with a matching row of an earlier date is not settled as never sent after the engine stopped asking", async (t) => {
  const stage = await stageMac(t);
  stage.fake.knows(TO);
  stage.fake.fault("answerLost");
  const message = stage.message({ text: "Off" });
  assert.equal((await stage.send(message)).outcome, "unknown");
  const row = stage.fake.messages.find(({ text }) => text === "Off") ?? assert.fail();
  row.dateCreated -= 120_000;
  for (let minute = 0; minute < 15; minute += 1) {
    await stage.driven(stage.process.mac.health.ready());
    await stage.clock.advance(60_000);
    await stage.fake.idle();
  }
  assert.equal(stage.attempts.noted.length, 1);
  const outcome = await stage.reconcile(message);
  assert.ok(outcome !== "absent" && outcome.outcome === "unknown");
});
