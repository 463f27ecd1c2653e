/** A reset against everything that may be under way, in a thousand orders: nothing of before it is left, and nothing breaks. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { inbound, receipt, ScriptedProvider } from "../../../test/support/provider.ts";
import { type Round, race } from "../../../test/support/race.ts";
import { STAYS } from "../../../test/support/stays.ts";
import type { MessageId } from "../../core/id.ts";
import { newMessage } from "../../core/new-message.ts";
import type { Signal } from "../../providers/provider.ts";
import { apply } from "../apply.ts";
import { addParticipant, renameGroup } from "../chats/change-group.ts";
import { createGroup } from "../chats/create-group.ts";
import { showTyping } from "../chats/show-typing.ts";
import { createContact, updateContact } from "../contacts/contacts.ts";
import { accept } from "../messages/accept.ts";
import { deleteMessage, editMessage, unsendMessage } from "../messages/actions.ts";
import { cancelRequest, expirePayments } from "../payments/end-payments.ts";
import { requestPayment } from "../payments/request-payment.ts";
import { resetSandbox } from "./sandbox.ts";

const correlationId = `cor_${"0".repeat(32)}`;

/** Actions of a customer and its contacts, on the records of `made` or on new ones. */
type Action = () => Promise<unknown>;

/** Records of every kind from before the reset. */
async function make(round: Round) {
  const { stage, contact, index } = round;
  const { deps } = stage.life;
  const customerId = stage.customer.id;
  const keyed = { customerId, keyId: stage.apiKey.id, correlationId };
  const send = (more: object = {}) =>
    accept(deps, newMessage(keyed, { to: contact, content: { text: "Hello" }, ...more }), null);
  const scheduledAt = new Date(deps.clock.now() + 1_000).toISOString();
  const [sent, waiting] = [(await send()).record, (await send({ scheduledAt })).record];
  const asked = await requestPayment(deps, {
    ...keyed,
    idempotencyKey: null,
    body: { to: contact, amount: 25, expiresInSeconds: 1 },
  });
  await stage.run();
  const { chat: group } = await createGroup(deps, {
    customerId,
    idempotencyKey: null,
    body: { participants: [contact, "+15005550131", "+15005550132"] },
  });
  const { contact: known } = await createContact(deps, customerId, {
    idempotencyKey: null,
    body: { phoneNumber: contact },
  });
  assert.ok(!asked.repeated);
  const { providerMessageId } = await stage.message(sent.id as MessageId);
  const ids = [sent.id, waiting.id, asked.value.id, asked.value.messageId, group.id, known.id];
  return { ids, sent, asked: asked.value, group, known, reference: providerMessageId ?? "", name: `${index} ` };
}

/** Everything that may be under way. */
function actionsOf(round: Round, made: Awaited<ReturnType<typeof make>>): Record<string, Action> {
  const { stage, contact } = round;
  const { deps } = stage.life;
  const customerId = stage.customer.id;
  const { sent, asked, group, known, reference, name } = made;
  const keyed = { customerId, keyId: stage.apiKey.id, correlationId };
  const own = { customerId, id: sent.id, idempotencyKey: null };
  const chat = { customerId, id: group.id, correlationId, idempotencyKey: null };
  const report = (signal: Signal) => apply(deps, stage.instance.id, signal);
  const common = { from: contact, to: stage.number.address, channel: "imessage" } as const;
  const payment = { amountCents: 2_500, currency: "USD", isRequest: false } as const;
  const text = "Changed";
  return {
    send: () => accept(deps, newMessage(keyed, { to: contact, content: { text: "Hello" }, createContact: true }), null),
    sendToGroup: () => accept(deps, newMessage(keyed, { chatId: group.id, content: { text: "Hello" } }), null),
    delivered: () => report(receipt("delivered", { reference, messageId: sent.id as MessageId })),
    read: () => report(receipt("read", { reference })),
    inbound: () => report(inbound({ ...common, reference: `${name}in`, replyTo: reference })),
    payment: () => report(inbound({ ...common, reference: `${name}paid`, text: null, payment })),
    stop: () => report(inbound({ ...common, reference: `${name}stop`, text: "STOP" })),
    love: () =>
      report({ kind: "reaction", ...common, reference: `${name}love`, target: reference, type: "love", content: "x" }),
    revision: () => report({ kind: "revision", ...common, reference: `${name}in`, text }),
    typing: () => report({ kind: "typing", ...common, group: null, typing: true }),
    edit: () => editMessage(deps, { ...own, text, forOldPhones: text }),
    unsend: () => unsendMessage(deps, own),
    delete: () => deleteMessage(deps, customerId, sent.id),
    requestPayment: () => requestPayment(deps, { ...keyed, idempotencyKey: null, body: { to: contact, amount: 25 } }),
    cancelPayment: () =>
      cancelRequest(deps, { key: null, customerId, route: "cancel", body: {} }, customerId, asked.id),
    expirePayments: () => expirePayments(deps),
    updateContact: () => updateContact(deps, customerId, known.id, { firstName: "Ada" }),
    renameGroup: () => renameGroup(deps, chat, "Named"),
    addParticipant: () => addParticipant(deps, chat, { field: "participant", value: "+15005550133" }),
    showTyping: () => showTyping(deps, chat, "start"),
  };
}

/** Rows that are left of records which are gone, by what is wrong with them. */
const ORPHANS: Readonly<Record<string, string>> = {
  "events of no message":
    "select message_id from events where message_id is not null and message_id not in (select id from messages)",
  "deliveries of no event": "select event_id from deliveries where event_id not in (select id from events)",
  "references of no message":
    "select message_id from provider_references where message_id not in (select id from messages)",
  "payments of no message": "select id from payments where message_id not in (select id from messages)",
  "messages in no chat": "select id from messages where chat_id is not null and chat_id not in (select id from chats)",
  "addresses of no contact": "select address from contact_addresses where contact_id not in (select id from contacts)",
  "contacts without their address":
    "select id from contacts where id not in (select contact_id from contact_addresses)",
};

const TABLES = ["messages", "events", "payments", "chats", "contacts"] as const;

/** Actions begun in one round: some of them, each time others. */
const ACTIONS_AT_ONCE = 7;

test("a reset during any work leaves no earlier record and no incomplete one", async (t) => {
  const provider = new ScriptedProvider();
  const { onAction } = provider;
  let groups = 0;
  provider.onAction = (call) => {
    if (call.name !== "createGroup") return onAction(call);
    groups += 1;
    return { done: true, reference: `group-${groups}` };
  };
  const all = new Set<string>();
  const done = new Set<string>();
  const round = async (one: Round) => {
    const { stage, index } = one;
    const { customer, life } = stage;
    // The store does in order what it is given; to put it off here would be to give it in another.
    life.delay = () => 0;
    const made = await make(one);
    stage.clock.shift(1_000);
    const actions = Object.entries(actionsOf(one, made));
    const places = Array.from({ length: ACTIONS_AT_ONCE }, (_, place) => (index + place * 7) % actions.length);
    const chosen = places.flatMap((place) => [actions[place] ?? assert.fail("there is no such action")]);
    const reset = () =>
      resetSandbox(life.deps, { key: null, customerId: customer.id, route: "POST /v1/sandbox/reset", body: {} }, STAYS);
    const [ended, ...answers] = await one.atOnce<unknown>(reset, ...chosen.map(([, action]) => action));
    assert.deepEqual(ended, { value: undefined });
    for (const [place, [name]] of chosen.entries()) {
      const answer = answers[place];
      all.add(name);
      if (answer !== undefined && "value" in answer) done.add(name);
    }
    await checkWhole(one, made.ids);
    return "reset";
  };
  const faults = ["receive"];
  await race(t, ["reset"], round, { provider, faults, startDelayMax: 20 });
  assert.deepEqual(all.difference(done), new Set(), "actions that never got through, before or after a reset");
});

/** Nothing is there that was there before the reset, and what is there is whole. */
async function checkWhole({ stage }: Round, ids: string[]): Promise<void> {
  const { db } = stage.deps.store;
  for (const table of TABLES) {
    const left = await db
      .selectFrom(table)
      .select("id")
      .where("id", "in", ids as never)
      .execute();
    assert.deepEqual(left, [], `${table} of before the reset`);
  }
  for (const [what, sql] of Object.entries(ORPHANS)) {
    const { rows } = await db.executeQuery({ sql, parameters: [], query: { kind: "RawNode" } } as never);
    assert.deepEqual(rows, [], what);
  }
}
