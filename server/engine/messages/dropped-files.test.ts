/** `routing.attachments`: files on channels and instances that do not carry them. */

import assert from "node:assert/strict";
import { describe, type TestContext as NodeTest, test } from "node:test";
import type { AttachmentInput, DryRun, SendMessage } from "../../../sdk/wire.ts";
import { type Carrier, type Carriers, carriersOn, SMS_FIRST, SMS_ONLY } from "../../../test/support/carriers.ts";
import { NOT_REACHABLE, REJECTED, ScriptedProvider } from "../../../test/support/provider.ts";
import type { MessageId } from "../../core/id.ts";
import { newMessage } from "../../core/new-message.ts";
import { AvailabilityLookups } from "../contacts/availability.ts";
import type { EngineDeps } from "../engine-deps.ts";
import { accept } from "./accept.ts";
import { dryRun } from "./dry-run.ts";
import { updateMessage } from "./schedule.ts";

const GIF = Buffer.from("GIF89a\0\0");
const PICTURE = "https://example.com/a.gif";
const PDF: AttachmentInput = { type: "base64", data: Buffer.from("%PDF-1.4\n").toString("base64"), filename: "a.pdf" };
const INVOICE: Partial<SendMessage> = { content: { text: "Here is your invoice." }, attachments: [PDF] };
const BOTH: Partial<SendMessage> = { content: { text: "Look", mediaUrls: [PICTURE] }, attachments: [PDF] };
const TO = "+15550100001";
const DAY_MS = 86_400_000;

const withRouting = (body: Partial<SendMessage>, routing: NonNullable<SendMessage["routing"]>) => ({
  ...body,
  routing: { ...body.routing, ...routing },
});

/** A Mac with iMessage, a carrier by SMPP and one by Twilio, which routes name in this order; files come from `fetched`. */
async function lines(t: NodeTest) {
  const fetched: string[] = [];
  const fetcher: EngineDeps["fetcher"] = {
    async fetch(url) {
      fetched.push(url);
      return { bytes: GIF, release() {} };
    },
    hold: () => () => {},
  };
  const carriers = await carriersOn(t, { deps: { fetcher } });
  const smpp = await carriers.add();
  const twilio = await carriers.add(new ScriptedProvider({ channels: ["sms"] }), "twilio");
  const route = (...to: Carrier[]) => carriers.setRoutes(to.map(({ id }) => ({ prefix: "+1", instanceId: id })));
  await route(smpp, twilio);
  return { ...carriers, smpp, twilio, route, fetched };
}

const requester = ({ stage }: Carriers) => ({
  customerId: stage.customer.id,
  keyId: stage.apiKey.id,
  correlationId: `cor_${"0".repeat(32)}`,
});

function planned(carriers: Carriers, body: Partial<SendMessage>): Promise<DryRun> {
  const { deps } = carriers.stage.life;
  return dryRun(deps, new AvailabilityLookups(deps), newMessage(requester(carriers), { to: TO, ...body }));
}

/** The texts that a carrier got, with the names of their files. */
const got = ({ provider }: Carrier) =>
  provider.handed.map(({ text, attachments }) => [text, attachments.map(({ filename }) => filename)]);

/** `attachmentsDropped` of each event of a message. */
async function droppedIn({ stage }: Carriers, id: MessageId): Promise<[string, number | undefined][]> {
  const events = await stage.events(id);
  return events.map(({ type, data }) => [type.replace("message.", ""), data.attachmentsDropped]);
}

describe("a message with a text, by default or with routing.attachments: drop", () => {
  test("falls back to a carrier without files as its text, and record, events, timeline and dry run say so", async (t) => {
    const all = await lines(t);
    const { stage, mac, smpp, fetched } = all;
    const plan = await planned(all, BOTH);
    assert.deepEqual(
      [plan.attachmentsDropped, ...plan.hops.map((hop) => hop.attachmentsDropped)],
      [0, 0, 2, 1],
      "iMessage, SMPP, Twilio",
    );
    mac.provider.sendNext.push(NOT_REACHABLE);
    const id = await stage.send(BOTH);
    await stage.run();
    assert.deepEqual(got(smpp), [["Look", []]]);
    assert.deepEqual(await droppedIn(all, id), [
      ["queued", undefined],
      ["fallback", 2],
      ["sent", 2],
    ]);
    const message = await stage.message(id);
    assert.deepEqual([message.attachmentsDropped, message.attachments.length, message.mediaUrls.length], [2, 1, 1]);
    const why = `SMS via ${smpp.name} (route +1), without 2 files, which it does not carry`;
    assert.equal(message.timeline.find(({ channel }) => channel === "sms")?.reason, `fallback: NOT_REACHABLE; ${why}`);
    assert.deepEqual(fetched, [PICTURE], "for iMessage alone");
  });

  test("goes as its text where SMS is the only channel named, and its files are not fetched", async (t) => {
    const all = await lines(t);
    const plan = await planned(all, { ...BOTH, ...SMS_ONLY });
    assert.deepEqual([plan.channel, plan.attachmentsDropped], ["sms", 2]);
    assert.match(plan.reason, /without 2 files, which it does not carry/);
    const id = await all.stage.send({ ...BOTH, ...SMS_ONLY });
    await all.stage.run();
    assert.deepEqual(got(all.smpp), [["Look", []]]);
    assert.deepEqual(await droppedIn(all, id), [
      ["queued", 2],
      ["sent", 2],
    ]);
    assert.deepEqual(all.fetched, []);
  });

  test("takes the files along to the next channel or instance that carries them", async (t) => {
    const all = await lines(t);
    const { stage, mac, smpp, twilio } = all;
    smpp.provider.sendNext.push(REJECTED);
    const id = await stage.send({ ...BOTH, ...SMS_ONLY });
    await stage.run();
    assert.deepEqual([got(smpp), got(twilio)], [[["Look", []]], [["Look", ["a.gif"]]]], "failover");
    assert.deepEqual((await droppedIn(all, id)).at(-1), ["sent", 1]);
    smpp.provider.sendNext.push(NOT_REACHABLE);
    const again = await stage.send({ ...INVOICE, ...SMS_FIRST });
    await stage.run();
    assert.deepEqual(await droppedIn(all, again), [
      ["queued", 1],
      ["fallback", undefined],
      ["sent", undefined],
    ]);
    assert.deepEqual(
      [got(mac), (await stage.message(again)).attachmentsDropped],
      [[["Here is your invoice.", ["a.pdf"]]], 0],
    );
  });

  test("counts anew when it moves away from an instance that is down", async (t) => {
    const all = await lines(t);
    const { stage, smpp, twilio } = all;
    await all.flip(false, smpp, twilio);
    const id = await stage.send({ ...BOTH, ...SMS_ONLY });
    await stage.run();
    assert.equal((await stage.message(id)).attachmentsDropped, 2);
    await all.flip(true, twilio);
    await stage.clock.advance(60_000);
    await stage.run();
    assert.deepEqual(got(twilio), [["Look", ["a.gif"]]]);
    assert.equal((await stage.message(id)).attachmentsDropped, 1);
  });
});

describe("a message that requires its files", () => {
  const REQUIRING: [title: string, body: Partial<SendMessage>, path: string][] = [
    ["routing.attachments: require", { ...INVOICE, routing: { attachments: "require" } }, "attachments"],
    ["without a text", { content: {}, attachments: [PDF] }, "attachments"],
    ["without a text, by media", { content: { mediaUrls: [PICTURE] } }, "content.mediaUrls[0]"],
    [
      "without a text, also with drop",
      { content: { mediaUrls: [PICTURE] }, routing: { attachments: "drop" } },
      "content.mediaUrls[0]",
    ],
  ];
  for (const [title, body, path] of REQUIRING) {
    test(`is CHANNEL_NOT_SUPPORTED if no channel is left, and never falls back to one without files (${title})`, async (t) => {
      const all = await lines(t);
      const { stage, mac, smpp } = all;
      await all.route(smpp);
      const byCarrier = withRouting(body, { preference: ["sms"] });
      await assert.rejects(planned(all, byCarrier), { code: "CHANNEL_NOT_SUPPORTED" });
      await assert.rejects(stage.send(byCarrier), (error: { code?: string; details?: { path: string }[] }) => {
        assert.deepEqual([error.code, error.details?.map((one) => one.path)], ["CHANNEL_NOT_SUPPORTED", [path]]);
        return true;
      });
      assert.deepEqual(
        (await planned(all, body)).hops.map(({ channel, usable, reason }) => [channel, usable, reason]).at(-1),
        ["sms", false, "it has files, which SMS does not carry here"],
      );
      mac.provider.sendNext.push(NOT_REACHABLE);
      const id = await stage.send(body);
      await stage.run();
      assert.deepEqual(await stage.eventTypes(id), ["queued", "failed"]);
      assert.deepEqual(got(smpp), []);
    });
  }

  test("goes by the instance that carries them, and waits for it rather than move to one that does not", async (t) => {
    const all = await lines(t);
    const { stage, smpp, twilio } = all;
    const body = { content: { mediaUrls: [PICTURE] }, ...SMS_ONLY };
    await all.flip(false, twilio);
    const id = await stage.send(body);
    await stage.run();
    assert.deepEqual([got(smpp), (await stage.message(id)).status], [[], "queued"]);
    await all.flip(true, twilio);
    assert.deepEqual(got(twilio), [["", ["a.gif"]]]);
  });
});

describe("PATCH of a scheduled message with files", () => {
  const schedule = async (all: Awaited<ReturnType<typeof lines>>, body: Partial<SendMessage>) => {
    const scheduledAt = new Date(all.stage.clock.now() + DAY_MS).toISOString();
    return all.stage.send({ ...body, scheduledAt });
  };
  const change = (all: Carriers, id: MessageId, content: { text?: string; mediaUrls?: string[] }) =>
    updateMessage(all.stage.life.deps, all.stage.customer.id, id, { content });

  test("counts the dropped files anew, and is refused if no channel carries what it then requires", async (t) => {
    const all = await lines(t);
    await all.route(all.smpp);
    const id = await schedule(all, { content: { text: "Look" }, ...SMS_ONLY });
    assert.equal((await change(all, id, { mediaUrls: [PICTURE, PICTURE] })).attachmentsDropped, 2);
    await assert.rejects(change(all, id, { text: "" }), { code: "CHANNEL_NOT_SUPPORTED" });
    assert.equal((await change(all, id, { mediaUrls: [] })).attachmentsDropped, 0);
    await change(all, id, { mediaUrls: [PICTURE] });
    await all.stage.pass(DAY_MS);
    assert.deepEqual([got(all.smpp), all.fetched], [[["Look", []]], []]);
  });

  test("leaves the channels that do not carry the files of a message that lost its text", async (t) => {
    const all = await lines(t);
    await all.route(all.smpp);
    const id = await schedule(all, { ...INVOICE, ...SMS_FIRST });
    const { channel, channelsLeft } = await change(all, id, { text: "" });
    assert.deepEqual([channel, channelsLeft], ["imessage", []]);
    await all.stage.pass(DAY_MS);
    assert.deepEqual([got(all.mac), got(all.smpp)], [[["", ["a.pdf"]]], []]);
  });
});

test("an idempotency key takes routing.attachments with its default for the same request as without it", async (t) => {
  const all = await lines(t);
  const { deps } = all.stage.life;
  const send = (body: Partial<SendMessage>) => accept(deps, newMessage(requester(all), { to: TO, ...body }), "key-1");
  const first = await send(INVOICE);
  const second = await send({ ...INVOICE, routing: { attachments: "drop" } });
  assert.deepEqual([second.repeated, second.record.id], [true, first.record.id]);
  const other = send({ ...INVOICE, routing: { attachments: "require" } });
  await assert.rejects(other, { code: "IDEMPOTENCY_KEY_REUSED" });
});
