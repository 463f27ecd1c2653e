/** Actions on a sent message: the phone first, then the record, in sequence. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type EngineStage, engineStage, seeded, turns } from "../../../test/support/engine.ts";
import { inbound, receipt } from "../../../test/support/provider.ts";
import { runsOf } from "../../../test/support/runs.ts";
import { ApiError } from "../../core/error.ts";
import type { MessageId } from "../../core/id.ts";
import type { ActionTarget } from "../../providers/provider.ts";
import { StoreFull } from "../../store/store.ts";
import { apply } from "../apply.ts";
import type { EngineDeps } from "../engine-deps.ts";
import { deleteMessage, editMessage, reactTo, unsendMessage } from "./actions.ts";

async function delivered(stage: EngineStage): Promise<MessageId> {
  const id = await stage.send();
  await stage.run();
  const reference = (await stage.message(id)).providerMessageId ?? "";
  await stage.report(receipt("delivered", { reference }));
  return id;
}

const edit = (stage: EngineStage, id: string, text: string, deps: EngineDeps = stage.deps) =>
  editMessage(deps, { customerId: stage.customer.id, id, text, forOldPhones: `Edited to “${text}”` });

const unsend = (stage: EngineStage, id: string, idempotencyKey: string | null = null, deps = stage.deps) =>
  unsendMessage(deps, { customerId: stage.customer.id, id, idempotencyKey });

const react = (stage: EngineStage, id: string, idempotencyKey: string | null = null) =>
  reactTo(stage.deps, { customerId: stage.customer.id, id, reaction: "love", idempotencyKey });

/** The code an order is refused with. */
async function refusal(order: Promise<unknown>): Promise<string> {
  try {
    await order;
  } catch (error) {
    if (error instanceof ApiError) return error.code;
    throw error;
  }
  return "none";
}

test("an edit reaches the phone, then the record, with message.edited of the new text", async (t) => {
  const stage = await engineStage(t);
  const id = await delivered(stage);
  stage.clock.shift(60_000);
  const answered = await edit(stage, id, "Hello again");
  assert.partialDeepStrictEqual(answered, { text: "Hello again", status: "delivered", editedAt: stage.clock.now() });
  assert.deepEqual(await stage.message(id), answered);
  assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "delivered", "edited"]);
  assert.partialDeepStrictEqual((await stage.events(id)).at(-1)?.data, {
    text: "Hello again",
    editedAt: new Date(stage.clock.now()).toISOString(),
  });
  const [called] = stage.provider.actionCalls;
  const [target, text, forOldPhones] = called?.given ?? [];
  assert.partialDeepStrictEqual(target, { messageId: id, reference: "ref-1", text: "Hello" });
  assert.partialDeepStrictEqual((target as ActionTarget).chat, {
    customerId: stage.customer.id,
    from: "+15550000001",
    contact: "+15550100001",
    channel: "imessage",
  });
  assert.deepEqual([called?.name, text, forOldPhones], ["edit", "Hello again", "Edited to “Hello again”"]);
});

for (const [what, answer] of [
  ["refuses", { done: false, reason: "the recipient's phone is too old" }],
  ["breaks", "throws"],
] as const) {
  test(`an edit that the phone ${what} is EDIT_FAILED, with message.edit_failed, and leaves the text`, async (t) => {
    const stage = await engineStage(t, { faults: ["provider.action"] });
    stage.provider.onAction = () => answer;
    const id = await delivered(stage);
    assert.equal(await refusal(edit(stage, id, "Bye")), "EDIT_FAILED");
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "delivered", "edit_failed"]);
    assert.partialDeepStrictEqual(await stage.message(id), { text: "Hello", editedAt: null });
    const { data } = (await stage.events(id)).at(-1) ?? {};
    assert.ok((data?.reason ?? "").length > 0 && data?.text === "Hello");
  });
}

test("an unsend reaches the phone, then the record; a second unsend is ALREADY_UNSENT", async (t) => {
  const stage = await engineStage(t);
  const id = await delivered(stage);
  const answered = await unsend(stage, id);
  assert.equal(answered.status, "unsent");
  assert.deepEqual(await stage.message(id), answered);
  assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "delivered", "unsent"]);
  for (const order of [unsend(stage, id), edit(stage, id, "Bye"), react(stage, id)]) {
    assert.equal(await refusal(order), "ALREADY_UNSENT");
  }
  assert.equal(stage.provider.actionCalls.length, 1);
});

test("no receipt, reaction or fallback changes an unsent message", async (t) => {
  const stage = await engineStage(t, { settings: { fallbackAfterMs: 60_000 } });
  const id = await stage.send();
  await stage.run();
  await unsend(stage, id);
  for (const kind of ["sent", "delivered", "read", "failed"] as const) await stage.report(receipt(kind));
  await stage.pass(120_000);
  assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "unsent"]);
  assert.equal(stage.provider.handed.length, 1);
  await deleteMessage(stage.deps, stage.customer.id, id);
  assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "unsent", "deleted"]);
});

test("an unsend or a reaction that the phone refuses is PROVIDER_ERROR, and changes nothing", async (t) => {
  const stage = await engineStage(t, { faults: ["provider.action"] });
  const id = await delivered(stage);
  for (const answer of [{ done: false, reason: "too late" }, "throws"] as const) {
    stage.provider.onAction = () => answer;
    assert.equal(await refusal(unsend(stage, id, "key-1")), "PROVIDER_ERROR");
    assert.equal(await refusal(react(stage, id, "key-2")), "PROVIDER_ERROR");
  }
  assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "delivered"]);
  stage.provider.onAction = () => ({ done: true });
  // A refusal does not use the keys up.
  await react(stage, id, "key-2");
  assert.equal((await unsend(stage, id, "key-1")).status, "unsent");
});

test("an action without a response is PROVIDER_TIMEOUT after 20 s, and emits no event", async (t) => {
  const stage = await engineStage(t);
  const id = await delivered(stage);
  stage.provider.onAction = () => "never";
  const refused = Promise.all([edit(stage, id, "Bye"), unsend(stage, id), react(stage, id)].map(refusal));
  await stage.clock.advance(61_000);
  assert.deepEqual(await refused, ["PROVIDER_TIMEOUT", "PROVIDER_TIMEOUT", "PROVIDER_TIMEOUT"]);
  assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "delivered"]);
});

test("an emoji reaction is sent to a provider with emojiReactions, and is otherwise a 400 with the reactions it supports", async (t) => {
  const stage = await engineStage(t);
  const id = await stage.send();
  await stage.run();
  const order = { customerId: stage.customer.id, id, reaction: "🎉", idempotencyKey: "key-1" };
  await assert.rejects(reactTo(stage.deps, order), { code: "CHANNEL_NOT_SUPPORTED", message: /🎉.*love, like/ });
  assert.deepEqual(stage.provider.actionCalls, []);
  Object.assign(stage.provider.capabilities, { emojiReactions: true });
  await reactTo(stage.deps, order);
  assert.deepEqual(
    stage.provider.actionCalls.map(({ name, given }) => [name, (given as unknown[])[1]]),
    [["react", "🎉"]],
  );
});

test("a reaction to a message in either direction reaches the phone, and emits no event", async (t) => {
  const stage = await engineStage(t);
  const id = await delivered(stage);
  await stage.report(inbound());
  const rows = stage.deps.store.db.selectFrom("messages").select("id").where("direction", "=", "inbound");
  const { id: theirs } = await rows.executeTakeFirstOrThrow();
  await react(stage, id);
  await react(stage, theirs);
  assert.deepEqual(
    stage.provider.actionCalls.map(({ name, given: [target, reaction] }) => [
      name,
      (target as ActionTarget).reference,
      reaction,
    ]),
    [
      ["react", "ref-1", "love"],
      ["react", "in-1", "love"],
    ],
  );
  const targets = stage.provider.actionCalls.map(({ given: [target] }) => target as ActionTarget);
  assert.equal(targets[1]?.chat.contact, "+15550100001");
  assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "delivered"]);
  assert.equal(await refusal(edit(stage, theirs, "Bye")), "INVALID_STATUS");
  assert.equal(await refusal(unsend(stage, theirs)), "INVALID_STATUS");
});

test("actions on an unsent, failed, SMS, deleted or foreign message are refused, and never reach the provider", async (t) => {
  const stage = await engineStage(t);
  const scheduledAt = new Date(stage.clock.now() + 60_000).toISOString();
  const scheduled = await stage.send({ scheduledAt });
  stage.provider.sendNext.push({ outcome: "rejected", code: "E1", reason: "no" });
  const failed = await stage.send({ routing: { fallback: false } });
  await stage.run();
  const sms = await stage.send({ routing: { preference: ["sms"] } });
  await stage.run();
  const deleted = await delivered(stage);
  await deleteMessage(stage.deps, stage.customer.id, deleted);
  const other = await stage.addTenant("Another");
  const own = await delivered(stage);
  const foreign = { ...stage, customer: other.customer };
  for (const [subject, id, code] of [
    [stage, scheduled, "INVALID_STATUS"],
    [stage, failed, "INVALID_STATUS"],
    [stage, sms, "CHANNEL_NOT_SUPPORTED"],
    [stage, deleted, "NOT_FOUND"],
    [foreign, own, "NOT_FOUND"],
    [stage, "msg_nobody", "NOT_FOUND"],
  ] as const) {
    for (const order of [edit(subject, id, "Bye"), unsend(subject, id), react(subject, id)]) {
      assert.equal(await refusal(order), code);
    }
  }
  assert.deepEqual(stage.provider.actionCalls, []);
  stage.provider.actions = {};
  assert.equal(await refusal(unsend(stage, own)), "CHANNEL_NOT_SUPPORTED");
  stage.providers.clear();
  assert.equal(await refusal(unsend(stage, own)), "SERVICE_UNAVAILABLE");
});

test("an action with a repeated idempotency key is not performed again", async (t) => {
  const stage = await engineStage(t);
  const id = await delivered(stage);
  await Promise.all([react(stage, id, "key-1"), react(stage, id, "key-1")]);
  const first = await Promise.all([unsend(stage, id, "key-2"), unsend(stage, id, "key-2")]);
  const again = await unsend(stage, id, "key-2");
  assert.deepEqual(
    [...first, again].map(({ status }) => status),
    ["unsent", "unsent", "unsent"],
  );
  assert.deepEqual(
    stage.provider.actionCalls.map(({ name }) => name),
    ["react", "unsend"],
  );
  assert.equal(await refusal(unsend(stage, await delivered(stage), "key-2")), "IDEMPOTENCY_KEY_REUSED");
});

test("a performed action is recorded once a full disk has room again, and the phone is not asked twice", async (t) => {
  const stage = await engineStage(t);
  const ids = [await delivered(stage), await delivered(stage)];
  let failures = 0;
  const store = new Proxy(stage.deps.store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name === "commit" && failures > 0) {
        return async () => {
          failures -= 1;
          throw new StoreFull("no room");
        };
      }
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const deps: EngineDeps = { ...stage.deps, store };
  for (const order of [() => edit(stage, ids[0] ?? "", "Bye", deps), () => unsend(stage, ids[1] ?? "", "key", deps)]) {
    failures = 3;
    const done = order();
    await stage.clock.advance(5_000);
    await done;
  }
  assert.deepEqual(await stage.eventTypes(ids[0] as MessageId), ["queued", "sent", "delivered", "edited"]);
  assert.deepEqual(await stage.eventTypes(ids[1] as MessageId), ["queued", "sent", "delivered", "unsent"]);
  assert.equal(stage.provider.actionCalls.length, 2);
});

test("a message that is deleted while the phone edits it stays deleted, and gets no text back", async (t) => {
  const stage = await engineStage(t);
  const id = await delivered(stage);
  stage.provider.onAction = async () => {
    await deleteMessage(stage.deps, stage.customer.id, id);
    return { done: true };
  };
  assert.equal(await refusal(edit(stage, id, "Bye")), "NOT_FOUND");
  assert.equal((await stage.message(id)).text, null);
  assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "delivered", "deleted"]);
});

test("at most sixteen actions wait for one message, and another customer's request does not wait for them", async (t) => {
  const stage = await engineStage(t);
  const id = await delivered(stage);
  stage.provider.onAction = () => "never";
  const orders = Array.from({ length: 17 }, () => refusal(react(stage, id)));
  assert.equal(await orders[16], "SERVICE_UNAVAILABLE");
  const other = await stage.addTenant("Another");
  assert.equal(await refusal(react({ ...stage, customer: other.customer }, id)), "NOT_FOUND");
  for (let left = 16; left > 0; left -= 1) await stage.clock.advance(21_000);
  assert.deepEqual(new Set(await Promise.all(orders.slice(0, 16))), new Set(["PROVIDER_TIMEOUT"]));
});

test("in many races of edit, unsend and receipts the events agree with the record, and nothing follows an unsend", async (t) => {
  const stage = await engineStage(t);
  const chance = seeded(20_260_101);
  const runs = runsOf(1_000);
  for (let race = 0; race < runs; race += 1) {
    const id = await delivered(stage);
    const reference = `ref-${race + 1}`;
    const isRefused = chance(4) === 0;
    stage.provider.onAction = async ({ name }) => {
      await turns(chance(3));
      return name === "edit" && isRefused ? { done: false, reason: "not today" } : { done: true };
    };
    const orders = [
      () => edit(stage, id, "first"),
      () => edit(stage, id, "second"),
      () => unsend(stage, id),
      () => apply(stage.deps, stage.instance.id, receipt("read", { reference })),
    ];
    for (let left = orders.length; left > 1; left -= 1) {
      const [order] = orders.splice(chance(left), 1);
      if (order !== undefined) orders.push(order);
    }
    const codes = await Promise.all(orders.map((order) => turns(chance(4)).then(() => refusal(order()))));
    await check(stage, id, codes);
  }
});

/** The text of the last edit is the message's; unsent is the last event, and once. */
async function check(stage: EngineStage, id: MessageId, codes: readonly string[]): Promise<void> {
  const events = await stage.events(id);
  const types = await stage.eventTypes(id);
  const message = await stage.message(id);
  const edits = events.filter(({ type }) => type === "message.edited");
  assert.equal(message.status, "unsent");
  assert.equal(types.filter((type) => type === "unsent").length, 1);
  assert.equal(types.at(-1), "unsent", types.join());
  assert.equal(message.text, edits.at(-1)?.data.text ?? "Hello");
  const failed = types.filter((type) => type === "edit_failed").length;
  assert.equal(edits.length + failed, 2 - codes.filter((code) => code === "ALREADY_UNSENT").length);
  assert.equal(failed, codes.filter((code) => code === "EDIT_FAILED").length);
}
