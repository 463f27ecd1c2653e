/** Typing of contacts and of the customer: begins once, ends once, and never lasts. */

import assert from "node:assert/strict";
import { describe, type TestContext as NodeTest, test } from "node:test";
import type { TypingEventData } from "../../../sdk/wire.ts";
import { type TestContext, testContext } from "../../../test/support/context.ts";
import { engineStage } from "../../../test/support/engine.ts";
import { ScriptedProvider } from "../../../test/support/provider.ts";
import { ApiError } from "../../core/error.ts";
import { type Conversation, type InboundSignal, PeerFault, type TypingSignal } from "../../providers/provider.ts";
import { findThreadByContact, listChats } from "../../store/chats.ts";
import { apply } from "../apply.ts";
import { showTyping } from "./show-typing.ts";

const ANN = "+15005550131";
const BOB = "+15005550132";
const MINUTE_MS = 60_000;

interface Stage extends TestContext {
  provider: ScriptedProvider;
  type(typing: boolean, more?: Partial<TypingSignal>): Promise<unknown>;
  write(more?: Partial<InboundSignal>): Promise<void>;
  /** `+`, `-` and who it is for each event of typing so far, types of the others. */
  news(): Promise<string[]>;
  last(): Promise<TypingEventData>;
}

async function stage(t: NodeTest): Promise<Stage> {
  const made = await testContext();
  const provider = new ScriptedProvider();
  made.providers.set(made.instance.id, provider);
  t.after(async () => {
    await made.deps.typingContacts.stop(made.deps);
    made.deps.typingIndicators.stop();
    assert.equal(made.clock.pending, 0, "no timer is left");
    await made.close();
  });
  const reported = async () => {
    const rows = await made.deps.store.db.selectFrom("events").select("bytes").orderBy("position").execute();
    return rows.map(({ bytes }) => JSON.parse(bytes) as { type: string; data: TypingEventData });
  };
  const common = { to: made.number.address, channel: "imessage", from: ANN, group: null } as const;
  let references = 0;
  return {
    ...made,
    provider,
    type: (typing, more = {}) => apply(made.deps, made.instance.id, { kind: "typing", ...common, typing, ...more }),
    async write(more = {}) {
      references += 1;
      const content = { text: "Hi", attachments: [], replyTo: null, payment: null, effect: null };
      const signal = { kind: "inbound", ...common, reference: `in-${references}`, ...content, ...more } as const;
      await apply(made.deps, made.instance.id, signal);
    },
    news: async () =>
      (await reported()).map(({ type, data }) =>
        type === "typing.indicator" ? `${data.typing ? "+" : "-"}${data.from}` : type,
      ),
    async last() {
      const event = (await reported()).at(-1);
      assert.ok(event !== undefined);
      return event.data;
    },
  };
}

describe("a contact's typing", () => {
  test("is one event, in a thread that it creates", async (t) => {
    const one = await stage(t);
    await one.type(true);
    const thread = await findThreadByContact(one.deps.store.db, one.customer.id, ANN, null);
    assert.ok(thread !== null);
    assert.deepEqual(await one.last(), {
      chatId: thread.id,
      chatGuid: thread.id,
      from: ANN,
      to: one.number.address,
      channel: "imessage",
      typing: true,
    });
  });

  test("emits its start and its end once, however often the provider reports them", async (t) => {
    const one = await stage(t);
    await Promise.all([one.type(true), one.type(true), one.type(false), one.type(false)]);
    await one.type(false);
    assert.deepEqual(await one.news(), [`+${ANN}`, `-${ANN}`]);
    assert.equal(one.clock.pending, 0);
  });

  test("ends after a minute without a signal, and each signal extends it", async (t) => {
    const one = await stage(t);
    await one.type(true);
    await one.clock.advance(MINUTE_MS - 1);
    await one.type(true);
    await one.clock.advance(MINUTE_MS - 1);
    assert.deepEqual(await one.news(), [`+${ANN}`]);
    await one.clock.advance(1);
    assert.deepEqual(await one.news(), [`+${ANN}`, `-${ANN}`]);
    await one.type(false);
    await one.clock.advance(MINUTE_MS);
    assert.deepEqual(await one.news(), [`+${ANN}`, `-${ANN}`]);
  });

  test("ends with a message of the contact, whose event follows the end of typing", async (t) => {
    const one = await stage(t);
    await Promise.all([one.type(true), one.write()]);
    await one.type(false);
    await one.write();
    assert.deepEqual(await one.news(), [`+${ANN}`, `-${ANN}`, "message.inbound", "message.inbound"]);
  });

  test("continues when another contact writes, or the contact writes in another chat", async (t) => {
    const one = await stage(t);
    const group = { reference: "g", name: null, participants: [ANN, BOB] };
    await one.type(true, { group });
    await one.type(true, { from: BOB });
    await one.write({ group, from: BOB });
    await one.write();
    assert.deepEqual(await one.news(), [`+${ANN}`, `+${BOB}`, "message.inbound", "message.inbound"]);
    await one.write({ group });
    await one.write({ from: BOB });
    assert.deepEqual((await one.news()).slice(4), [`-${ANN}`, "message.inbound", `-${BOB}`, "message.inbound"]);
    assert.equal((await listChats(one.deps.store.db, one.customer.id, null, 10)).length, 3);
  });

  test("ends when the service stops", async (t) => {
    const one = await stage(t);
    await one.type(true);
    await one.type(true, { from: BOB });
    await one.deps.typingContacts.stop(one.deps);
    assert.deepEqual((await one.news()).toSorted(), [`+${ANN}`, `+${BOB}`, `-${ANN}`, `-${BOB}`]);
  });

  test("ends once a full disk has room again", async (t) => {
    const one = await stage(t);
    await one.type(true);
    const { commit } = one.deps.store;
    one.deps.store.commit = () => Promise.reject(new ApiError("SERVICE_UNAVAILABLE", "full"));
    await one.clock.advance(MINUTE_MS);
    assert.deepEqual(
      one.observed.faults.map(({ where }) => where),
      ["typing-contacts"],
    );
    one.deps.store.commit = commit;
    await one.clock.advance(MINUTE_MS);
    assert.deepEqual(await one.news(), [`+${ANN}`, `-${ANN}`]);
  });

  test("ends for the oldest of more than 10,000 typing contacts", async (t) => {
    const one = await stage(t);
    const { id: customerId } = one.customer;
    const typist = { chatId: "chat_1", customerId, to: one.number.address, channel: "imessage" } as const;
    const typing = (who: string) => one.deps.typingContacts.isTyping(who);
    for (let index = 0; index <= 10_000; index += 1) {
      one.deps.typingContacts.begin(one.deps, `typing ${index}`, { ...typist, from: `+1555${index}` });
    }
    await one.clock.advance(0);
    assert.deepEqual(await one.news(), ["-+15550"]);
    assert.deepEqual([typing("typing 0"), typing("typing 1"), typing("typing 10000")], [false, true, true]);
  });

  test("emits no event for an unknown address, and its `forget` key is deleted", async (t) => {
    const one = await stage(t);
    const { id: instanceId } = one.instance;
    await one.deps.store.commit([{ op: "put", table: "memory", record: { instanceId, key: "k", value: "v" } }]);
    await one.type(true, { to: "+15005550199", forget: "k" });
    assert.deepEqual(await one.news(), []);
    assert.deepEqual(await one.deps.store.db.selectFrom("memory").selectAll().execute(), []);
  });
});

describe("the customer's typing", () => {
  async function shown(t: NodeTest) {
    const one = await stage(t);
    await one.write();
    const asked = {
      customerId: one.customer.id,
      id: ANN,
      correlationId: `cor_${"0".repeat(32)}`,
      idempotencyKey: null,
    };
    const show = (status: "start" | "stop") => showTyping(one.deps, asked, status);
    /** The provider's requests so far. */
    const orders = () => one.provider.actionCalls.map(({ given: [, typing] }) => typing);
    return { one, show, orders };
  }

  test("is ended at the provider after a minute, unless it is renewed", async (t) => {
    const { one, show, orders } = await shown(t);
    await show("start");
    await one.clock.advance(MINUTE_MS - 1);
    await show("start");
    await one.clock.advance(MINUTE_MS - 1);
    assert.deepEqual(orders(), [true, true]);
    await one.clock.advance(1);
    assert.deepEqual(orders(), [true, true, false]);
    await one.clock.advance(MINUTE_MS);
    assert.deepEqual(orders(), [true, true, false]);
  });

  test("is a warning in the log, not an error, if the provider does not end it", async (t) => {
    const { one, show } = await shown(t);
    await show("start");
    one.provider.onAction = () => ({ done: false, reason: "the phone is off" });
    await one.clock.advance(MINUTE_MS);
    const [fault, ...others] = one.observed.faults;
    assert.deepEqual([fault?.where, others], ["show-typing", []]);
    assert.ok(fault?.error instanceof PeerFault);
    assert.match(fault.error.message, /The provider refused: the phone is off/);
  });

  test("ends once when the customer ends it", async (t) => {
    const { one, show, orders } = await shown(t);
    await show("start");
    await show("stop");
    await one.clock.advance(MINUTE_MS);
    assert.deepEqual(orders(), [true, false]);
  });

  test("ends with a message to the same contact, without another request to the provider", async (t) => {
    const one = await engineStage(t);
    await one.send({ to: ANN });
    await one.send({ to: BOB });
    await one.run();
    const asked = { customerId: one.customer.id, correlationId: `cor_${"0".repeat(32)}`, idempotencyKey: null };
    for (const id of [ANN, BOB]) await showTyping(one.deps, { ...asked, id }, "start");
    await one.send({ to: ANN });
    await one.run();
    await one.clock.advance(MINUTE_MS);
    const orders = one.provider.actionCalls.map(({ given: [chat, typing] }) => [
      (chat as Conversation).contact,
      typing,
    ]);
    assert.deepEqual(orders, [
      [ANN, true],
      [BOB, true],
      [BOB, false],
    ]);
  });

  test("is not shown over SMS", async (t) => {
    const { one, show, orders } = await shown(t);
    await one.write({ channel: "sms" });
    await assert.rejects(show("start"), (error) => error instanceof ApiError && error.code === "CHANNEL_NOT_SUPPORTED");
    assert.deepEqual(orders(), []);
  });
});
