/** A dry run returns the plan of sending, with every considered instance and the reasons, and leaves no trace. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { DryRun, SendMessage } from "../../../sdk/wire.ts";
import { type Carriers, carriersOn, SMS_FIRST } from "../../../test/support/carriers.ts";
import { NOT_REACHABLE, ScriptedProvider } from "../../../test/support/provider.ts";
import { groupFor } from "../../../test/support/sending.ts";
import { PNG } from "../../../test/support/shapes.ts";
import { STAYS } from "../../../test/support/stays.ts";
import { newMessage } from "../../core/new-message.ts";
import { TABLES } from "../../store/tables.ts";
import { AvailabilityLookups } from "../contacts/availability.ts";
import { setQuietHours } from "../routing/quiet-hours.ts";
import { dryRun } from "./dry-run.ts";

const TO = "+15550100001";

async function rehearse(carriers: Carriers, more: Partial<SendMessage> = {}): Promise<DryRun> {
  const { stage } = carriers;
  const { deps } = stage.life;
  const requester = { customerId: stage.customer.id, keyId: stage.apiKey.id, correlationId: `cor_${"0".repeat(32)}` };
  const body = { content: { text: "Hello" }, ...(more.chatId === undefined ? { to: TO } : {}), ...more };
  return dryRun(deps, new AvailabilityLookups(deps), newMessage(requester, body));
}

/** A Mac and two carriers that the same route names. */
async function pairOn(...[t, options]: Parameters<typeof carriersOn>) {
  const carriers = await carriersOn(t, options);
  const a = await carriers.add();
  const b = await carriers.add();
  await carriers.setRoutes([a, b].map(({ id }) => ({ prefix: "+1", instanceId: id })));
  return { ...carriers, a, b };
}

const outcome = ({ channel, instanceId, reason }: DryRun) => [channel, instanceId, reason];
const hops = (run: DryRun) =>
  run.hops.map(({ channel, instanceId, usable, reason }) => [channel, instanceId, usable, reason]);

describe("the hops of a dry run", () => {
  test("are the routes that sending would take, with the reasons of its timeline", async (t) => {
    const carriers = await pairOn(t);
    const { stage, mac, a, b } = carriers;
    const run = await rehearse(carriers);
    const first = `iMessage (preferred), via ${mac.name} (this number's instance)`;
    assert.deepEqual(outcome(run), ["imessage", mac.id, `${first}; from ${run.from} (default number)`]);
    assert.deepEqual(hops(run), [
      ["imessage", mac.id, true, first],
      ["sms", a.id, true, `SMS if iMessage is given up, via ${a.name} (route +1)`],
      ["sms", b.id, true, `via ${b.name} (route +1) if ${a.name} refuses it`],
    ]);
    const id = await stage.send();
    assert.equal((await stage.message(id)).timeline[0]?.reason, run.reason);
  });

  test("skip an instance that is down for one that is up", async (t) => {
    const carriers = await pairOn(t);
    const { a, b, stage } = carriers;
    await carriers.flip(false, a);
    const run = await rehearse(carriers, SMS_FIRST);
    assert.deepEqual([run.channel, run.instanceId], ["sms", b.id]);
    assert.deepEqual(hops(run).slice(0, 2), [
      ["sms", a.id, false, `${a.name} is down`],
      ["sms", b.id, true, `SMS (preferred), via ${b.name} (route +1, as ${a.name} is down)`],
    ]);
    const id = await stage.send(SMS_FIRST);
    assert.equal((await stage.message(id)).instanceId, b.id);
  });

  test("wait for the first instance if all instances of the channel are down, as sending does", async (t) => {
    const carriers = await pairOn(t);
    const { a, b } = carriers;
    await carriers.flip(false, a, b);
    const run = await rehearse(carriers, SMS_FIRST);
    assert.deepEqual([run.channel, run.instanceId], ["sms", a.id]);
    assert.match(run.reason, /\), which is down: the message waits for it; from /);
    assert.deepEqual(hops(run)[1], ["sms", b.id, false, `${b.name} is down`]);
  });

  test("exclude iMessage if the provider knows that the recipient has none", async (t) => {
    const carriers = await pairOn(t);
    const { mac, a, stage } = carriers;
    mac.provider.onAction = () => ({ imessage: false, facetime: false });
    mac.provider.onSend = () => NOT_REACHABLE;
    const run = await rehearse(carriers);
    const reason = `SMS fallback, via ${a.name} (route +1); from ${run.from} (default number)`;
    assert.deepEqual(outcome(run), ["sms", a.id, reason]);
    assert.equal(run.hops[0]?.usable, false);
    assert.match(run.hops[0]?.reason ?? "", /is not on iMessage/);
    const id = await stage.send();
    await stage.run();
    const { channel, instanceId } = await stage.message(id);
    assert.deepEqual([channel, instanceId], [run.channel, run.instanceId]);
  });

  test("include iMessage if the provider does not know or does not respond", async (t) => {
    for (const answer of [{ imessage: null, facetime: null }, "throws"] as const) {
      const carriers = await pairOn(t, { faults: ["provider.action"] });
      carriers.mac.provider.onAction = () => answer;
      assert.equal((await rehearse(carriers)).channel, "imessage");
    }
  });

  test("end with the first channel if fallback is off, and are unusable if the recipient is not on it", async (t) => {
    const carriers = await pairOn(t);
    const { mac, a } = carriers;
    const more = { routing: { fallback: false } };
    const run = await rehearse(carriers, more);
    assert.equal(run.channel, "imessage");
    assert.deepEqual(hops(run)[1], [
      "sms",
      a.id,
      false,
      "routing.fallback is false: no channel is tried after iMessage",
    ]);
    mac.provider.onAction = () => ({ imessage: false, facetime: false });
    carriers.stage.clock.shift(86_400_000);
    const none = await rehearse(carriers, more);
    assert.deepEqual([none.channel, none.instanceId, none.segments], [null, null, null]);
    assert.match(none.reason, /is not on iMessage/);
  });

  test("name each channel that is not tried, with the reason", async (t) => {
    const carriers = await pairOn(t);
    const preferred = await rehearse(carriers, { routing: { preference: ["imessage"] } });
    assert.deepEqual(hops(preferred)[1], ["sms", null, false, "routing.preference does not name it"]);
    const mailed = await rehearse(carriers, { to: "jo@example.com" });
    const from = carriers.stage.number.address;
    assert.deepEqual(hops(mailed)[1], ["sms", null, false, `there is no SMS from ${from} to jo@example.com`]);
    const chat = await groupFor(carriers.stage);
    const grouped = await rehearse(carriers, { chatId: chat.id });
    assert.deepEqual(hops(grouped)[1], ["sms", null, false, "the group is on iMessage"]);
    assert.equal(grouped.to, chat.id);
    const attachments: SendMessage["attachments"] = [{ type: "url", url: "https://example.com/a.pdf" }];
    const attached = await rehearse(carriers, { attachments, routing: { attachments: "require" } });
    assert.deepEqual(hops(attached)[1], ["sms", null, false, "it has files, which SMS does not carry here"]);
  });

  test("do not query availability if iMessage is not tried", async (t) => {
    const carriers = await pairOn(t);
    await rehearse(carriers, { routing: { preference: ["sms"] } });
    assert.deepEqual(carriers.mac.provider.actionCalls, []);
  });
});

describe("a dry run returns", () => {
  test("segments and encoding of the text as an SMS, also if iMessage comes first", async (t) => {
    const carriers = await pairOn(t);
    const run = await rehearse(carriers, { content: { text: "“Hello”" } });
    assert.deepEqual([run.channel, run.segments, run.encoding], ["imessage", 1, "UCS-2"]);
    const smart = await carriersOn(t, {
      settings: { smartEncoding: true },
      provider: new ScriptedProvider({ channels: ["imessage", "sms"] }),
    });
    assert.equal((await rehearse(smart, { content: { text: "“Hello”" } })).encoding, "GSM-7");
  });

  test("segments and encoding as the instance that would send the SMS counts them", async (t) => {
    const carriers = await pairOn(t);
    const measured: string[] = [];
    const measureSms = (text: string) => {
      measured.push(text);
      return { encoding: "Latin-1", segments: 7 } as const;
    };
    Object.assign(carriers.a.provider, { measureSms });
    const run = await rehearse(carriers, SMS_FIRST);
    assert.deepEqual([run.segments, run.encoding, measured], [7, "Latin-1", ["Hello"]]);
  });

  test("no segments if no SMS can be sent", async (t) => {
    const carriers = await carriersOn(t);
    const run = await rehearse(carriers);
    assert.deepEqual([run.channel, run.segments, run.encoding], ["imessage", null, null]);
  });

  test("the scheduled time, and the end of the quiet hours at that time", async (t) => {
    const carriers = await pairOn(t);
    const { stage } = carriers;
    const { deps } = stage.life;
    await setQuietHours(deps, stage.customer.id, { start: "21:00", end: "08:00", timeZone: "UTC" }, STAYS);
    const to = "jo@example.com";
    assert.equal((await rehearse(carriers, { to })).quietUntil, "2026-01-01T08:00:00.000Z");
    const scheduledAt = "2026-01-02T22:00:00.000Z";
    const later = await rehearse(carriers, { to, scheduledAt });
    assert.deepEqual([later.scheduledAt, later.quietUntil], [scheduledAt, "2026-01-03T08:00:00.000Z"]);
    assert.equal((await rehearse(carriers, { to, scheduledAt: "2026-01-02T12:00:00Z" })).quietUntil, null);
  });
});

test("a dry run leaves nothing behind: no row of any table, nothing sent, nothing due", async (t) => {
  const carriers = await pairOn(t);
  const { stage, mac, a, b } = carriers;
  const rows = async () => {
    const all = Object.values(TABLES).map(async ({ name }) => {
      const found = await stage.deps.store.db
        .selectFrom(name as "messages")
        .selectAll()
        .execute();
      return [name, found] as const;
    });
    return Object.fromEntries(await Promise.all(all));
  };
  const before = await rows();
  await rehearse(carriers, { createContact: true, externalMessageId: "x", idempotencyKey: "k" });
  await rehearse(carriers, { attachments: [{ type: "base64", data: PNG }] });
  await rehearse(carriers, { ...SMS_FIRST, scheduledAt: "2026-01-02T22:00:00Z" });
  await stage.run();
  assert.deepEqual(await rows(), before);
  for (const { provider } of [mac, a, b]) assert.deepEqual(provider.handed, []);
});
