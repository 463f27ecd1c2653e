/** A queued message is prepared before its send attempt is recorded: files, opt-outs, and the order of waiting. */

import assert from "node:assert/strict";
import { describe, type TestContext as NodeTest, test } from "node:test";
import { type EngineStage, engineStage } from "../../../test/support/engine.ts";
import { ScriptedProvider, UNKNOWN } from "../../../test/support/provider.ts";
import type { MessageId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import type { FetchResult } from "../../outgoing/fetch.ts";
import { invalidateOptOuts } from "../contacts/opt-outs.ts";
import type { EngineDeps } from "../engine-deps.ts";

const GIF = Buffer.from("GIF89a\0\0");
const A = "https://example.com/a.gif";
const B = "https://example.com/b.gif";
const SECOND_MS = 1_000;
const FETCHED_AT_ONCE = 16;

type Answer = FetchResult | Promise<FetchResult> | "never";

/** A stage whose files come from `answer`, by their address. */
async function stageWith(t: NodeTest, answer: (url: string) => Answer, provider = new ScriptedProvider()) {
  const fetched: string[] = [];
  const memory = { held: 0 };
  const hold = (bytes: number) => {
    memory.held += bytes;
    return () => {
      memory.held -= bytes;
    };
  };
  const fetcher: EngineDeps["fetcher"] = {
    async fetch(url, { abort }) {
      fetched.push(url);
      const answered = answer(url);
      const calledOff = new Promise<FetchResult>((resolve) =>
        abort.addEventListener("abort", () => resolve({ deferred: "was called off" })),
      );
      const got = await (answered === "never" ? calledOff : Promise.race([answered, calledOff]));
      return "bytes" in got ? { bytes: got.bytes, release: hold(got.bytes.length) } : got;
    },
    hold: (_owner, bytes) => hold(bytes),
  };
  const stage = await engineStage(t, { provider, deps: { fetcher } });
  return { ...stage, stage, fetched, memory, life: stage.life };
}

const picture = (): FetchResult => ({ bytes: GIF, release() {} });
const MEDIA = { content: { mediaUrls: [A] } };

const handedOf = ({ provider }: EngineStage, id: MessageId) =>
  provider.handed.filter(({ messageId }) => messageId === id);

describe("files are fetched at the send attempt", () => {
  test("media first, then attachments, while the message is still queued, and their memory is freed", async (t) => {
    let statusThen: string | null = null;
    const made = await stageWith(t, async () => {
      statusThen = (await made.message(id)).status;
      return picture();
    });
    const data = Buffer.from("%PDF-1.4\n").toString("base64");
    const id = await made.send({
      content: { text: "Look", mediaUrls: [A, B] },
      attachments: [{ type: "base64", data, filename: "c.pdf" }],
    });
    await made.run();
    assert.deepEqual(await made.eventTypes(id), ["queued", "sent"]);
    const [handed, ...more] = handedOf(made, id);
    assert.deepEqual(
      handed?.attachments.map(({ filename, mimeType, bytes }) => [filename, mimeType, bytes.length]),
      [
        ["a.gif", "image/gif", GIF.length],
        ["b.gif", "image/gif", GIF.length],
        ["c.pdf", "application/pdf", 9],
      ],
    );
    assert.deepEqual([more.length, made.fetched, statusThen, made.memory.held], [0, [A, B], "queued", 0]);
  });

  test("a file that can never be fetched fails the message, without a fallback or a send attempt", async (t) => {
    const made = await stageWith(t, (url) => (url === A ? picture() : { refused: "answered 404" }));
    const id = await made.send({ content: { text: "Look", mediaUrls: [A, B] } });
    await made.run();
    assert.deepEqual(await made.eventTypes(id), ["queued", "failed"]);
    const { errorCode, providerErrorCode, errorMessage, channelsLeft } = await made.message(id);
    assert.deepEqual([errorCode, providerErrorCode, channelsLeft], ["REJECTED", "MEDIA_REFUSED", ["sms"]]);
    assert.match(errorMessage ?? "", /content\.mediaUrls\[1\]: .*b\.gif answered 404/);
    assert.deepEqual([handedOf(made, id).length, made.memory.held], [0, 0]);
  });

  test("with retries at growing intervals for a temporary failure, until the message expires", async (t) => {
    const made = await stageWith(t, () => ({ deferred: "answered 503" }));
    const id = await made.send(MEDIA);
    await made.run();
    const start = made.clock.now();
    const at: number[] = [];
    for (let message = await made.message(id); message.dueAt !== null; message = await made.message(id)) {
      at.push(message.dueAt - start);
      await made.pass(message.dueAt - made.clock.now());
    }
    assert.deepEqual(
      at.slice(0, 6),
      [1, 2, 4, 8, 16, 32].map((seconds) => seconds * SECOND_MS),
    );
    const message = await made.message(id);
    assert.deepEqual([message.status, message.errorCode], ["failed", "EXPIRED"]);
    const reasons = message.timeline.slice(1).map(({ status, reason }) => [status, reason?.split(":")[0]]);
    assert.deepEqual(reasons, [
      ["queued", "postponed"],
      ["failed", "EXPIRED"],
    ]);
    assert.ok(made.fetched.length < 900, `fetched ${made.fetched.length} times in 72 hours`);
    assert.equal(handedOf(made, id).length, 0);
  });

  test("with retries for a temporary failure, and the message is sent once they succeed", async (t) => {
    const answers: FetchResult[] = [{ deferred: "answered 503" }, picture()];
    const made = await stageWith(t, () => answers.shift() ?? picture());
    const id = await made.send(MEDIA);
    await made.run();
    assert.equal((await made.message(id)).status, "queued");
    await made.pass(SECOND_MS);
    assert.deepEqual([await made.eventTypes(id), handedOf(made, id).length], [["queued", "sent"], 1]);
  });

  test("not for reconciliation, and again for the next attempt", async (t) => {
    const made = await stageWith(t, picture);
    made.provider.sendNext.push(UNKNOWN);
    const id = await made.send(MEDIA);
    await made.run();
    made.provider.onSettle = () => "absent";
    await made.pass(2 * SECOND_MS);
    assert.deepEqual([made.provider.asked.map(({ attachments }) => attachments.length), made.fetched.length], [[0], 2]);
    assert.deepEqual(
      handedOf(made, id).map(({ attachments }) => attachments.length),
      [1, 1],
    );
  });

  test("not while no instance accepts the message", async (t) => {
    const made = await stageWith(t, picture);
    made.providers.clear();
    const id = await made.send(MEDIA);
    await made.run();
    assert.deepEqual([(await made.message(id)).status, made.fetched], ["queued", []]);
    made.providers.set(made.instance.id, made.provider);
    await made.pass(SECOND_MS);
    assert.deepEqual(await made.eventTypes(id), ["queued", "sent"]);
  });
});

describe("a message with slow files", () => {
  test("delays only later messages to the same recipient", async (t) => {
    let come: (got: FetchResult) => void = () => {};
    const slow = new Promise<FetchResult>((resolve) => {
      come = resolve;
    });
    const made = await stageWith(t, () => slow);
    const pictures: MessageId[] = [];
    for (let index = 0; index < 30; index += 1) {
      pictures.push(await made.send({ ...MEDIA, to: `+1555020${String(index).padStart(4, "0")}` }));
    }
    await made.run();
    const [first = "msg_"] = pictures;
    const behind = await made.send({ to: "+15550200000" });
    const other = await made.send({ to: "+15550209999" });
    await made.run();
    assert.deepEqual((await made.message(other)).status, "sent");
    assert.deepEqual((await made.message(behind)).status, "queued");
    assert.ok(made.fetched.length <= 16, `${made.fetched.length} are fetched at once`);
    come(picture());
    await made.run();
    assert.deepEqual(
      made.provider.handed.filter(({ to }) => to === "+15550200000").map(({ messageId }) => messageId),
      [first, behind],
    );
    await made.pass(10 * SECOND_MS);
    for (const id of pictures) assert.equal((await made.message(id)).status, "sent");
  });

  test("keeps its lease: two messages that take 30 s in sequence are each sent once", async (t) => {
    const made = await stageWith(
      t,
      () => new Promise<FetchResult>((resolve) => made.clock.after(30 * SECOND_MS, () => resolve(picture()))),
    );
    const ids = [await made.send(MEDIA), await made.send(MEDIA)];
    for (let second = 0; second < 70; second += 1) {
      await made.clock.advance(SECOND_MS);
      await made.deps.store.releaseLeases(made.clock.real(), made.clock.now());
      made.life.dispatch.lanes.wake([made.instance.id]);
    }
    assert.deepEqual(
      made.provider.handed.map(({ messageId }) => messageId),
      ids,
    );
    for (const id of ids) assert.deepEqual(await made.eventTypes(id), ["queued", "sent"]);
  });

  test("is deferred after 35 s, and stays queued when the service stops", async (t) => {
    const made = await stageWith(t, () => "never");
    const id = await made.send(MEDIA);
    await made.clock.advance(36 * SECOND_MS);
    const { status, timeline } = await made.message(id);
    assert.deepEqual([status, timeline.at(-1)?.reason?.includes("35 s")], ["queued", true]);
    const other = await made.send({ ...MEDIA, to: "+15550100009" });
    await made.clock.advance(0);
    made.life.dispatch.cutOff();
    await made.life.dispatch.stop();
    const left: Message = await made.message(other);
    assert.deepEqual([left.status, left.claimedUntil, left.dueAt === null], ["queued", null, false]);
    assert.deepEqual(made.provider.handed, []);
  });
});

describe("opt-outs when a message is due", () => {
  const optOut = async (stage: EngineStage, contact: string) => {
    const number = stage.number.address;
    const record = { customerId: stage.customer.id, number, contact, scope: "number" } as const;
    const transaction = [
      { op: "put", table: "optOuts", record: { ...record, source: "keyword", keyword: "STOP", createdAt: 1 } },
    ] as const;
    await stage.deps.store.commit(transaction);
    invalidateOptOuts(stage.life.deps, transaction);
  };

  test("a message to a contact that wrote STOP after its acceptance fails with RECIPIENT_OPTED_OUT, unsent", async (t) => {
    const stage = await engineStage(t);
    const to = "+15550100007";
    const id = await stage.send({ to, scheduledAt: new Date(stage.clock.now() + SECOND_MS).toISOString() });
    const other = await stage.send({ scheduledAt: new Date(stage.clock.now() + SECOND_MS).toISOString() });
    await optOut(stage, to);
    await stage.pass(SECOND_MS);
    await stage.run();
    assert.deepEqual(await stage.eventTypes(id), ["scheduled", "queued", "failed"]);
    const { errorCode, errorMessage } = await stage.message(id);
    assert.deepEqual([errorCode, errorMessage?.includes(to)], ["RECIPIENT_OPTED_OUT", true]);
    assert.deepEqual(
      stage.provider.handed.map(({ messageId }) => messageId),
      [other],
    );
  });
});

test("a provider gets a limited number of messages with files at once: twice its concurrency, and those being fetched", async (t) => {
  const provider = new ScriptedProvider({ concurrency: 3 });
  provider.onSend = () => "never";
  const { stage, memory, fetched } = await stageWith(t, picture, provider);
  for (let index = 0; index < 80; index += 1) await stage.send({ ...MEDIA, to: `+155501000${10 + index}` });
  await stage.run();
  await stage.clock.advance(10 * SECOND_MS);
  const { length } = provider.handed;
  assert.ok(length >= 6 && length <= 2 * 3 + FETCHED_AT_ONCE, `${length} at once`);
  assert.deepEqual([fetched.length, memory.held], [length, length * GIF.length]);
  // Called off, each makes room for another.
  await stage.clock.advance(40 * SECOND_MS);
  assert.ok(provider.handed.length > length && memory.held <= 22 * GIF.length, `${provider.handed.length} after that`);
});

test("a text is sent between messages with slow files, however many they are and however low the concurrency", async (t) => {
  const { stage, fetched } = await stageWith(t, () => "never", new ScriptedProvider({ concurrency: 2 }));
  for (let index = 0; index < 30; index += 1) await stage.send({ ...MEDIA, to: `+155501000${10 + index}` });
  await stage.run();
  assert.equal(fetched.length, FETCHED_AT_ONCE);
  const text = await stage.send();
  await stage.run();
  assert.equal((await stage.message(text)).status, "sent");
});
