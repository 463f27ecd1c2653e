/**
 * Lists that cannot be read, and signals that cannot be stored: no message is lost, no loop spins, and the cursor is
 * never ahead.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
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

const OTHER = "+15005550007";

test("three pages are reported together; an error on the second reports nothing until all pages can be read", async (t) => {
  const { stage, fake, away, untilReported, later } = await inboundStage(t);
  fake.pageSizeMax = 2;
  const wanted = ["1", "2", "3", "4", "5"];
  let errors = 3;
  fake.onList = (_, query) => {
    if (query.get("Page") !== "1" || errors === 0) return null;
    errors -= 1;
    return { status: 503, body: "busy" };
  };
  await away(() => {
    for (const body of wanted) fake.arrive({ from: TO, to: FROM, body });
  });
  const before = marks(stage);
  await later(30 * SECOND);
  assert.deepEqual([texts(stage), marks(stage)], [[], before]);
  assert.match(stage.faults.join(), /could not be read: Twilio responded with 503/);
  assert.deepEqual(await untilReported(5), wanted);
  assert.notDeepEqual(marks(stage), before);
  await later(6 * 60 * MINUTE);
  assert.deepEqual(texts(stage), wanted);
});

test("a message that could not be stored keeps the cursor in place, and the next process reports it; later messages are reported", async (t) => {
  const { stage, fake, later, away, untilReported } = await inboundStage(t);
  const before = marks(stage);
  stage.listen = async (signal) => {
    if (signal.kind === "inbound" && signal.text === "bad") throw new Error("the store is busy");
    return "applied";
  };
  for (const body of ["a", "bad", "c"]) fake.arrive({ from: TO, to: FROM, body });
  await later(30 * MINUTE);
  assert.deepEqual([texts(stage), marks(stage)], [["a", "c"], before]);
  stage.listen = async () => "applied";
  await away(() => {});
  await untilReported(5);
  assert.deepEqual(texts(stage), ["a", "c", "a", "bad", "c"]);
  assert.notDeepEqual(marks(stage), before);
});

test("an account that refuses or limits requests does not get more of them", async (t) => {
  const refusals = { 401: 20003, 403: 20005, 429: 20429, 500: 20500 };
  for (const [status, code] of Object.entries(refusals)) {
    const numbers = Array.from({ length: 5 }, (_, index) => own(`+1500555010${index}`));
    const { stage, fake, later, untilReported } = await inboundStage(t, numbers);
    fake.onList = () => ({ status: Number(status), body: JSON.stringify({ code, message: "no" }) });
    const before = lists(stage).length;
    await later(60 * MINUTE);
    const asked = lists(stage).length - before;
    assert.ok(asked >= 1 && asked <= 60, `${asked} questions in an hour at ${status}`);
    assert.equal(stage.provider.isUp, true);
    fake.onList = () => null;
    fake.arrive({ from: TO, to: "+15005550103", body: "after" });
    assert.deepEqual(await untilReported(1, 90 * MINUTE), ["after"]);
  }
});

test("the backfill waits for as long as Retry-After says, and sends no request while the account is down", async (t) => {
  const { stage, fake, later, untilReported } = await inboundStage(t);
  const body = JSON.stringify({ code: 20429, message: "slow" });
  fake.onList = () => ({ status: 429, body, headers: { "retry-after": "1800" } });
  await later(2 * MINUTE);
  const asked = lists(stage).length;
  await later(25 * MINUTE);
  assert.equal(lists(stage).length, asked);
  fake.onList = () => null;
  fake.accountStatus = "suspended";
  await later(30 * MINUTE);
  fake.arrive({ from: TO, to: FROM, body: "meanwhile" });
  const down = lists(stage).length;
  await later(30 * MINUTE);
  assert.deepEqual([lists(stage).length, texts(stage)], [down, []]);
  fake.accountStatus = "active";
  assert.deepEqual(await untilReported(1), ["meanwhile"]);
});

test("a number whose list cannot be read does not block the others", async (t) => {
  const { stage, fake, later, untilReported } = await inboundStage(t, [own(), own(OTHER)]);
  for (const body of ["", "<html>", "{}", '{"messages":[],"next_page_uri":"https://elsewhere.example/"}']) {
    fake.onList = (_, query) => (query.get("To") === FROM ? { status: 200, body } : null);
    const count = texts(stage).length;
    fake.arrive({ from: TO, to: OTHER, body: String(count) });
    await untilReported(count + 1);
    await later(MINUTE);
  }
  assert.deepEqual(texts(stage), ["0", "1", "2", "3"]);
  fake.onList = (_, query) => (query.get("To") === FROM ? { status: 404, body: "{}" } : null);
  await later(6 * 60 * MINUTE);
  const failed = lists(stage).filter((query) => query.get("To") === FROM);
  assert.ok(failed.length < 30, `${failed.length} questions about it`);
});

test("a date in the future hides no earlier message", async (t) => {
  const { fake, clock, later, untilReported } = await inboundStage(t);
  fake.arrive({ from: TO, to: FROM, body: "tomorrow's", createdAt: clock.real() + 3 * 60 * MINUTE });
  await later(20 * MINUTE);
  fake.arrive({ from: TO, to: FROM, body: "now" });
  assert.deepEqual(await untilReported(2), ["tomorrow's", "now"]);
});

test("a list with endless pages is given up, and read less and less often", async (t) => {
  const { stage, fake, later } = await inboundStage(t);
  const next = `/2010-04-01/Accounts/${fake.accountSid}/Messages.json?To=%2B15005550006&Page=1`;
  fake.onList = () => ({ status: 200, body: JSON.stringify({ messages: [], next_page_uri: next }) });
  await later(2 * MINUTE);
  const first = lists(stage).length;
  assert.ok(first <= 600, `${first} pages`);
  const before = marks(stage);
  await later(10 * MINUTE);
  assert.ok(lists(stage).length - first <= 1_000, `${lists(stage).length} pages`);
  assert.deepEqual(marks(stage), before);
  assert.match(stage.faults.join(), /more messages than one read covers/);
});

test("files that cannot be listed delay only their message; deleted files do not", async (t) => {
  const { stage, fake, untilReported, later } = await inboundStage(t);
  const media = [{ url: `${fake.url}/a`, type: "image/png" }];
  fake.arrive({ from: TO, to: FROM, body: "with a file", media });
  fake.arrive({ from: TO, to: FROM, body: "without" });
  let status = 500;
  fake.onList = (path) => (path.endsWith("/Media.json") ? { status, body: "" } : null);
  await later(10 * MINUTE);
  assert.deepEqual(texts(stage), ["without"]);
  status = 404;
  assert.deepEqual(await untilReported(2, 60 * MINUTE), ["without", "with a file"]);
  assert.deepEqual(inbounds(stage)[1]?.attachments, []);
});

test("numbers that cannot be read, and a cursor that cannot be written, end only the present read, and no loop spins", async (t) => {
  const { stage, fake, untilReported, later } = await inboundStage(t);
  Object.defineProperty(stage, "numbers", {
    configurable: true,
    get: () => {
      throw new Error("the store is busy");
    },
  });
  await later(5 * MINUTE);
  assert.ok(stage.faults.length <= 5);
  Object.defineProperty(stage, "numbers", { value: [own()] });
  const before = marks(stage);
  stage.entries.set = () => {
    throw new Error("the disk is full");
  };
  const asked = lists(stage).length;
  fake.arrive({ from: TO, to: FROM, body: "after" });
  assert.deepEqual(await untilReported(1), ["after"]);
  await later(60 * MINUTE);
  assert.ok(lists(stage).length - asked <= 10, `${lists(stage).length - asked} questions`);
  assert.deepEqual(marks(stage), before);
  Reflect.deleteProperty(stage.entries, "set");
  await later(70 * MINUTE);
  assert.notDeepEqual(marks(stage), before);
  assert.deepEqual(texts(stage), ["after"]);
});

test("a day with too many messages does not block the later days", async (t) => {
  const { stage, fake, clock, away, untilReported, later } = await inboundStage(t);
  fake.pageSizeMax = 1;
  await away(async () => {
    for (let index = 0; index < 120; index += 1) {
      fake.arrive({ from: TO, to: FROM, body: "too many", createdAt: clock.real() + SECOND });
    }
    await clock.advance(2 * DAY);
    fake.arrive({ from: TO, to: FROM, body: "later" });
  });
  assert.deepEqual(await untilReported(1, MINUTE), ["later"]);
  await later(SECOND);
  assert.match(stage.faults.join(), /more messages than one read covers/);
  const before = lists(stage).length;
  await later(10 * MINUTE);
  assert.ok(lists(stage).length - before <= 20, `${lists(stage).length - before} pages`);
  assert.deepEqual(texts(stage), ["later"]);
});

test("files that can never be listed do not block later messages, and delay their own texts only for a while", async (t) => {
  const { stage, fake, untilReported, later } = await inboundStage(t);
  const media = [{ url: `${fake.url}/a`, type: "image/png" }];
  const pictures = ["1", "2", "3", "4", "5"];
  for (const body of pictures) fake.arrive({ from: TO, to: FROM, body, media });
  fake.arrive({ from: TO, to: FROM, body: "text" });
  fake.onList = (path) => (path.endsWith("/Media.json") ? { status: 405, body: "" } : null);
  const before = marks(stage);
  await later(4 * 60 * MINUTE);
  assert.deepEqual([texts(stage), marks(stage)], [["text"], before]);
  assert.deepEqual(await untilReported(6, 4 * 60 * MINUTE), ["text", ...pictures]);
  await later(MINUTE);
  assert.notDeepEqual(marks(stage), before);
});

test("a list that is refused while the account works is logged, since nothing else shows it", async (t) => {
  for (const status of [403, 429]) {
    const { stage, fake, later } = await inboundStage(t);
    fake.onList = () => ({ status, body: "{}" });
    await later(10 * MINUTE);
    assert.match(stage.faults.join(), new RegExp(`could not be read: Twilio responded with ${status}`));
    assert.ok(stage.faults.length <= 5, `${stage.faults.length} lines`);
  }
});

test("stop() ends the present round, and nothing is requested or reported after it", async (t) => {
  const { stage, fake, clock, later } = await inboundStage(t);
  let asked = 0;
  fake.onList = () => {
    asked += 1;
    return { status: 200, body: JSON.stringify({ messages: [], next_page_uri: `/2010-04-01/${asked}/Messages.json` }) };
  };
  await clock.advance(MINUTE);
  await stage.provider.stop();
  const before = fake.asked.length;
  await later(10 * MINUTE);
  assert.equal(fake.asked.length, before);
});

type Step = "write" | "hook" | "wait" | "restart" | "lists fail" | "lists work" | "store fails" | "store works";
const STEPS: Step[] = ["write", "hook", "wait", "restart", "lists fail", "lists work", "store fails", "store works"];
const RUNS = Number(process.env.TB_RUNS ?? 15);

test("whatever fails, and whenever the process restarts, every message is reported in the end", async (t) => {
  const property = fc.asyncProperty(fc.array(fc.constantFrom(...STEPS), { maxLength: 25 }), async (steps) => {
    const { stage, fake, clock, later, away } = await inboundStage(t);
    fake.pageSizeMax = 2;
    const written: string[] = [];
    const arrive = () => {
      const message = fake.arrive({ from: TO, to: FROM, body: String(written.length) });
      written.push(message.sid);
      return message;
    };
    const deeds: Record<Step, () => unknown> = {
      write: arrive,
      // Reports to a failing store are retried for ten seconds.
      hook: () => Promise.all([fake.deliver(stage.hook.url, arrive()), later(11 * SECOND)]),
      wait: () => later(12 * MINUTE),
      restart: () => away(() => {}),
      "lists fail": () => {
        fake.onList = (_, query) => (query.has("Page") ? { status: 500, body: "" } : null);
      },
      "lists work": () => {
        fake.onList = () => null;
      },
      "store fails": () => {
        stage.listen = () => Promise.reject(new Error("busy"));
      },
      "store works": () => {
        stage.listen = async () => "applied";
      },
    };
    for (const step of steps) {
      await deeds[step]();
    }
    deeds["lists work"]();
    deeds["store works"]();
    const missing = () => {
      const reported = new Set(inbounds(stage).map(({ reference }) => reference));
      return written.filter((sid) => !reported.has(sid));
    };
    await advanceUntil(fake, clock, () => missing().length === 0, 3 * 60 * MINUTE);
    assert.deepEqual(missing(), []);
    await stage.provider.stop();
  });
  await fc.assert(property, { numRuns: RUNS });
});
