/** Messages that the hook missed: the backfill reports each one once and in order. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  DAY,
  inboundStage,
  inbounds,
  lists,
  MINUTE,
  marks,
  own,
  SECOND,
  texts,
} from "../../../test/support/twilio/inbound-stage.ts";
import { FROM, TO } from "../../../test/support/twilio/sending.ts";
import { advanceUntil } from "../../../test/support/twilio/simulated.ts";
import { wordMap } from "../../core/opt-out.ts";

const OTHER = "+15005550007";

test("the next process reports messages from the time without one, oldest first, as the hook would have done", async (t) => {
  const { stage, fake, away, untilReported, later } = await inboundStage(t);
  await away(() => {
    fake.arrive({ from: TO, to: FROM, body: "one" });
    fake.arrive({ from: TO, to: FROM, body: "two" });
    const url = `${fake.url}/2010-04-01/Accounts/${fake.accountSid}/Messages/MM1/Media/ME1`;
    fake.arrive({ from: TO, to: FROM, media: [{ url, type: "image/png" }] });
  });
  assert.deepEqual(await untilReported(3), ["one", "two", null]);
  const [reported] = inbounds(stage);
  const [, , picture] = inbounds(stage);
  await fake.deliver(stage.hook.url, fake.messages[0] ?? assert.fail());
  await fake.deliver(stage.hook.url, fake.messages[2] ?? assert.fail());
  assert.deepEqual(inbounds(stage).slice(3), [reported, picture]);
  await later(10 * MINUTE);
  assert.equal(inbounds(stage).length, 5);
});

test("a message that the hook received is not reported again, and one that it missed follows within a minute", async (t) => {
  const { stage, fake, clock, untilReported, later } = await inboundStage(t);
  await fake.write(stage.hook.url, { from: TO, to: FROM, body: "received" });
  await later(5 * MINUTE);
  assert.deepEqual(texts(stage), ["received"]);
  fake.arrive({ from: TO, to: FROM, body: "to another tool's hook" });
  const before = clock.real();
  await untilReported(2);
  assert.deepEqual(texts(stage), ["received", "to another tool's hook"]);
  assert.ok(clock.real() - before <= MINUTE + 5 * SECOND);
});

test("the hook and the list at the same time report one message with one reference", async (t) => {
  const { stage, fake, clock, untilReported, later } = await inboundStage(t);
  const held: (() => void)[] = [];
  stage.listen = () => new Promise((resolve) => void held.push(() => resolve("applied")));
  const written = fake.arrive({ from: TO, to: FROM, body: "both" });
  const calling = fake.deliver(stage.hook.url, written);
  await advanceUntil(fake, clock, () => held.length === 2, MINUTE + 5 * SECOND);
  for (const release of held) release();
  await calling;
  await untilReported(2);
  assert.deepEqual([...new Set(inbounds(stage).map(({ reference }) => reference))], [written.sid]);
  await later(5 * MINUTE);
  assert.equal(inbounds(stage).length, 2);
});

test("a new number does not bring its history, or that of its former customer", async (t) => {
  const { stage, fake, clock, later, untilReported } = await inboundStage(t);
  fake.arrive({ from: TO, to: OTHER, body: "long ago", createdAt: clock.real() - 40 * DAY });
  fake.arrive({ from: TO, to: OTHER, body: "just before", createdAt: clock.real() - 3 * SECOND });
  stage.numbers = [own(), own(OTHER)];
  await later(3 * MINUTE);
  assert.deepEqual(texts(stage), []);
  fake.arrive({ from: TO, to: OTHER, body: "news" });
  assert.deepEqual(await untilReported(1), ["news"]);
  fake.arrive({ from: TO, to: OTHER, body: "not yours" });
  stage.numbers = [own(), own(OTHER, "cust_2")];
  await later(3 * MINUTE);
  assert.deepEqual(texts(stage), ["news"]);
  fake.arrive({ from: TO, to: OTHER, body: "yours" });
  assert.deepEqual(await untilReported(2), ["news", "yours"]);
});

test("a number that is added during a round begins when it is added, not after the round", async (t) => {
  const numbers = [own(), own("+15005550008"), own("+15005550009")];
  const { stage, fake, away, later, untilReported } = await inboundStage(t, numbers);
  let release = () => {};
  await away(() => {
    fake.arrive({ from: TO, to: "+15005550009", body: "takes long" });
    fake.onList = (_, query) => {
      if (query.get("To") === "+15005550008") stage.numbers = [...numbers, own(OTHER)];
      return null;
    };
    stage.listen = () => new Promise((resolve) => (release = () => resolve("applied")));
  });
  await later(20 * SECOND);
  fake.arrive({ from: TO, to: OTHER, body: "news" });
  await later(MINUTE);
  stage.listen = async () => "applied";
  release();
  assert.deepEqual(await untilReported(2), ["takes long", "news"]);
});

test("an instance without numbers reads no list", async (t) => {
  const { stage, later } = await inboundStage(t, []);
  await later(10 * MINUTE);
  assert.deepEqual([lists(stage), marks(stage)], [[], []]);
  stage.numbers = [own()];
  // Also at the same time: a new number does not wait for the others.
  await later(6 * SECOND);
  const asked = lists(stage);
  assert.ok(asked.length > 0);
  assert.ok(asked.every((query) => query.get("To") === FROM));
  stage.numbers = [];
  await later(2 * MINUTE);
  assert.deepEqual(marks(stage), []);
});

test("a list that is too long is read day by day, from the oldest", async (t) => {
  const { fake, clock, away, untilReported, later } = await inboundStage(t);
  fake.pageSizeMax = 1;
  const wanted: string[] = [];
  await away(async () => {
    for (let index = 0; index < 120; index += 1) {
      wanted.push(String(index));
      const createdAt = clock.real() + (index * DAY) / 60 + SECOND;
      fake.arrive({ from: TO, to: FROM, body: String(index), createdAt });
    }
    await clock.advance(2 * DAY);
  });
  assert.deepEqual(await untilReported(120), wanted);
  await later(5 * MINUTE);
  assert.equal((await untilReported(121, MINUTE)).length, 120);
});

test("a message in `receiving` waits for its files, but not for ever", async (t) => {
  const { stage, fake, untilReported, later } = await inboundStage(t);
  const late = fake.arrive({ from: TO, to: FROM, body: "picture", status: "receiving" });
  fake.arrive({ from: TO, to: FROM, body: "stuck", status: "receiving" });
  await later(3 * MINUTE);
  fake.arrive({ from: TO, to: FROM, body: "text" });
  assert.deepEqual(await untilReported(1), ["text"]);
  late.status = "received";
  late.files = [{ url: `${fake.url}/a`, type: "" }];
  assert.deepEqual(await untilReported(2), ["text", "picture"]);
  const [, picture] = inbounds(stage);
  assert.deepEqual(picture?.attachments, [
    { reference: `${fake.url}/a`, mimeType: null, filename: null, totalBytes: null, data: null },
  ]);
  assert.deepEqual(await untilReported(3, 15 * MINUTE), ["text", "picture", "stuck"]);
});

test("a missed START does not cancel a STOP that was received", async (t) => {
  const { stage, fake, clock, untilReported, later } = await inboundStage(t);
  fake.arrive({ from: TO, to: FROM, body: "Start" });
  await clock.advance(2 * SECOND);
  await fake.write(stage.hook.url, { from: TO, to: FROM, body: "Stop" });
  assert.deepEqual(await untilReported(2), ["Stop", "Start"]);
  await later(MINUTE);
  const wishes = stage.signals.flatMap((signal) => (signal.kind === "optOut" ? [signal.request] : []));
  assert.deepEqual(wishes, ["stop"]);
  assert.equal(stage.signals.at(-1)?.kind, "optOut");
});

test("a missed word that begins messages does not cancel one that ended them, as the customer chose both", async (t) => {
  const { stage, fake, clock, untilReported, later } = await inboundStage(t);
  stage.words = { stop: wordMap(["Basta"]), resume: wordMap(["Zurück"]) };
  fake.arrive({ from: TO, to: FROM, body: "zurück" });
  await clock.advance(2 * SECOND);
  await fake.write(stage.hook.url, { from: TO, to: FROM, body: "basta" });
  assert.deepEqual(await untilReported(2), ["basta", "zurück"]);
  await later(MINUTE);
  assert.partialDeepStrictEqual(stage.signals.at(-1), { kind: "optOut", request: "stop", keyword: "Basta" });
});

test("a late START does not cancel a STOP that arrived before it, by keyword or by Twilio's own opt-out", async (t) => {
  const { stage, fake, clock, away, untilReported, later } = await inboundStage(t);
  const wishes = () => stage.signals.flatMap((signal) => (signal.kind === "optOut" ? [signal.request] : []));
  await away(async () => {
    fake.arrive({ from: TO, to: FROM, body: "Hi" });
    fake.arrive({ from: TO, to: FROM, body: "Start" });
    fake.arrive({ from: TO, to: FROM, body: "Unstop" });
    await clock.advance(MINUTE);
    stage.listen = async (signal) => {
      if (signal.kind === "inbound" && signal.text === "Hi") {
        await fake.write(stage.hook.url, { from: TO, to: FROM, body: "Stop" });
      }
      return "applied";
    };
  });
  assert.deepEqual(await untilReported(4), ["Stop", "Hi", "Start", "Unstop"]);
  await later(MINUTE);
  assert.deepEqual([wishes(), stage.signals.at(-1)?.kind], [["stop", "stop"], "optOut"]);
  fake.arrive({ from: TO, to: FROM, body: "Start" });
  await clock.advance(2 * SECOND);
  await fake.write(stage.hook.url, { from: TO, to: FROM, body: "Arret", more: { OptOutType: "STOP" } });
  await untilReported(6);
  await later(MINUTE);
  assert.deepEqual(wishes(), ["stop", "stop", "stop", "stop"]);
  // The contact opted in again, and gets messages again.
  fake.arrive({ from: TO, to: FROM, body: "Start" });
  await untilReported(7);
  await later(MINUTE);
  assert.equal(wishes().length, 4);
});

test("a number that changes its customer during a read brings the new customer none of the remaining messages", async (t) => {
  const { stage, fake, clock, away, later, untilReported } = await inboundStage(t);
  await away(async () => {
    stage.listen = async () => {
      stage.numbers = [own(FROM, "cust_2")];
      return "applied";
    };
    for (const body of ["one", "two", "three"]) fake.arrive({ from: TO, to: FROM, body });
    await clock.advance(MINUTE);
  });
  await later(5 * MINUTE);
  assert.deepEqual(texts(stage), ["one"]);
  fake.arrive({ from: TO, to: FROM, body: "yours" });
  assert.deepEqual(await untilReported(2), ["one", "yours"]);
});

test("a difference between Twilio's clock and ours loses no message, brings no history, and repeats only what a restart repeats", async (t) => {
  for (const aheadMs of [-7 * MINUTE, 7 * MINUTE, 3 * 60 * MINUTE]) {
    const { stage, fake, clock, away, untilReported, later } = await inboundStage(t, []);
    fake.now = () => clock.real() + aheadMs;
    fake.arrive({ from: TO, to: FROM, body: "before" });
    await clock.advance(5 * SECOND);
    stage.numbers = [own()];
    await later(2 * MINUTE);
    fake.arrive({ from: TO, to: FROM, body: "one" });
    await untilReported(1);
    await away(() => fake.arrive({ from: TO, to: FROM, body: "two" }));
    await later(5 * MINUTE);
    assert.deepEqual(texts(stage), ["one", "one", "two"], String(aheadMs));
  }
});

test("with many numbers the backfill makes at most one request a second", async (t) => {
  const numbers = Array.from({ length: 200 }, (_, index) => own(`+1500556${String(index).padStart(4, "0")}`));
  const { stage, later } = await inboundStage(t, numbers);
  await later(20 * MINUTE);
  assert.ok(lists(stage).length <= 20 * 60 + 200, String(lists(stage).length));
  assert.ok(lists(stage).length >= 5 * 200);
});

test("texts to an address that is no number of the service are counted in the health", async (t) => {
  const { stage, fake } = await inboundStage(t);
  stage.nobodys = "+15550000077";
  for (const body of ["Hi", "Anybody?"]) {
    await fake.write(stage.hook.url, { from: TO, to: stage.nobodys, body });
    const { warnings = [] } = await stage.provider.health();
    const found = warnings.find((warning) => warning.includes("no number of this service (last: …0077)"));
    assert.match(found ?? "", body === "Hi" ? /^1 text came .* nobody got it/ : /^2 texts came .* nobody got them/);
  }
  await fake.write(stage.hook.url, { from: TO, to: FROM, body: "Hi" });
  assert.match(String((await stage.provider.health()).warnings), /2 texts came/);
});
