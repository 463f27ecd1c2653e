/** Availability of an address when providers answer, answer late, do not know, or are gone. */

import assert from "node:assert/strict";
import { type TestContext as NodeTest, test } from "node:test";
import { type TestContext, testContext } from "../../../test/support/context.ts";
import { inbound, ScriptedProvider } from "../../../test/support/provider.ts";
import { ApiError } from "../../core/error.ts";
import { newMessage } from "../../core/new-message.ts";
import type { Availability, FocusState } from "../../providers/provider.ts";
import { apply } from "../apply.ts";
import { accept } from "../messages/accept.ts";
import { AvailabilityLookups } from "./availability.ts";

const PEER = "+15550100001";
const HOUR_MS = 3_600_000;

/** A provider with availability lookups, and the functions that set its responses. */
interface Stage {
  made: TestContext;
  provider: ScriptedProvider;
  inquiries: AvailabilityLookups;
  /** Sets the provider's response from now on. */
  says(availability: Availability | "throws" | "never"): void;
  saysOfFocus(state: FocusState): void;
}

async function stage(t: NodeTest): Promise<Stage> {
  const made = await testContext();
  t.after(() => made.close());
  const provider = new ScriptedProvider();
  made.providers.set(made.instance.id, provider);
  let availability: Availability | "throws" | "never" = { imessage: true, facetime: true };
  let focus: FocusState = { focused: true, focusMode: "sleep" };
  provider.onAction = ({ name }) => (name === "focus" ? focus : availability);
  return {
    ...{ made, provider, inquiries: new AvailabilityLookups(made.deps) },
    says(said) {
      availability = said;
    },
    saysOfFocus(said) {
      focus = said;
    },
  };
}

const hasCode = (code: string) => (error: unknown) => error instanceof ApiError && error.code === code;

/** Exchanges messages with `PEER` in both directions; the customer's message is delivered. */
async function converse({ deps, customer, apiKey, instance, number }: TestContext, peer = PEER): Promise<void> {
  const requester = { customerId: customer.id, keyId: apiKey.id, correlationId: `cor_${"0".repeat(32)}` };
  const { record } = await accept(deps, newMessage(requester, { to: peer, content: { text: "Hello" } }), null);
  const { id } = record;
  await deps.store.commit([
    { op: "update", table: "messages", id, version: 1, set: { status: "delivered", dueAt: null } },
  ]);
  await apply(deps, instance.id, inbound({ from: peer, to: number.address }));
}

test("a provider is asked about an address once an hour, however many requests need it", async (t) => {
  const { made, inquiries, provider, says } = await stage(t);
  const ask = () => inquiries.capabilities(made.customer.id, PEER);
  const checkedAt = new Date(made.clock.now()).toISOString();
  const [first, second] = await Promise.all([ask(), ask()]);
  assert.deepEqual(first, {
    phoneNumber: PEER,
    capabilities: { imessage: true, sms: true, facetime: true },
    iMessage: true,
    recommendedChannel: "imessage",
    lastChecked: checkedAt,
    cached: false,
    focused: false,
  });
  assert.deepEqual(second, first);
  made.clock.shift(HOUR_MS - 1);
  says({ imessage: false, facetime: false });
  assert.deepEqual(await ask(), { ...first, cached: true });
  made.clock.shift(1);
  const later = await ask();
  assert.deepEqual(later.capabilities, { imessage: false, sms: true, facetime: false });
  assert.deepEqual([later.recommendedChannel, later.cached], ["sms", false]);
  assert.ok(later.lastChecked > checkedAt);
  const asked = { name: "availability", given: [made.customer.id, PEER] };
  assert.deepEqual(provider.actionCalls, [asked, asked]);
});

test("customers share no cached availability, and an e-mail address has no SMS", async (t) => {
  const { made, inquiries, provider, says } = await stage(t);
  const other = await made.addTenant("Other");
  await inquiries.capabilities(made.customer.id, "ada@example.com");
  says({ imessage: false, facetime: null });
  const found = await inquiries.capabilities(other.customer.id, "ada@example.com");
  assert.deepEqual(found.capabilities, { imessage: false, sms: false, facetime: false });
  assert.equal(found.recommendedChannel, null);
  assert.equal(provider.actionCalls.length, 2);
});

test("if the provider fails, is late or is gone, the cached availability is returned without an error", async (t) => {
  const { made, inquiries, says } = await stage(t);
  const ask = () => inquiries.capabilities(made.customer.id, PEER);
  says("throws");
  const unknown = await ask();
  assert.deepEqual(unknown.capabilities, { imessage: false, sms: true, facetime: false });
  assert.deepEqual([unknown.recommendedChannel, unknown.cached], ["sms", false]);
  says({ imessage: true, facetime: true });
  const known = await ask();
  assert.equal(known.cached, false, "a failure is not remembered");
  made.clock.shift(2 * HOUR_MS);
  says("never");
  const late = ask();
  await made.clock.advance(60_000);
  assert.deepEqual(await late, { ...known, cached: true }, "the old answer, and when it was given");
  made.providers.clear();
  assert.deepEqual(await ask(), { ...known, cached: true });
  const { capabilities } = await inquiries.capabilities(made.customer.id, "+15550100002");
  assert.deepEqual(capabilities, { imessage: false, sms: true, facetime: false });
});

test("if the provider does not know, iMessage is available if an iMessage was delivered to the address", async (t) => {
  const { made, inquiries, says } = await stage(t);
  says({ imessage: null, facetime: null });
  await converse(made);
  const found = await inquiries.capabilities(made.customer.id, PEER);
  assert.deepEqual(found.capabilities, { imessage: true, sms: true, facetime: false });
  const other = await inquiries.capabilities(made.customer.id, "+15550100002");
  assert.equal(other.capabilities.imessage, false);
});

test("focus is shown only for contacts with messages in both directions, and is requested once a minute", async (t) => {
  const { made, inquiries, provider, saysOfFocus } = await stage(t);
  const ask = () => inquiries.focus(made.customer.id, PEER);
  await assert.rejects(ask(), hasCode("NOT_FOUND"));
  assert.equal((await inquiries.capabilities(made.customer.id, PEER)).focused, false);
  await converse(made);
  const found = { phoneNumber: PEER, focused: true, focusActive: true, focusMode: "sleep", cached: false };
  assert.deepEqual(await ask(), found);
  assert.deepEqual(await ask(), { ...found, cached: true });
  const { focused, focusMode } = await inquiries.capabilities(made.customer.id, PEER);
  assert.deepEqual([focused, focusMode], [true, "sleep"]);
  saysOfFocus({ focused: false });
  made.clock.shift(60_000);
  assert.deepEqual(await ask(), { phoneNumber: PEER, focused: false, focusActive: false, cached: false });
  const other = await made.addTenant("Other");
  await assert.rejects(inquiries.focus(other.customer.id, PEER), hasCode("NOT_FOUND"));
  assert.equal(provider.actionCalls.filter(({ name }) => name === "focus").length, 2);
});

test("FaceTime availability is read from a provider with calls, and refused without one", async (t) => {
  const { made, inquiries, provider, says } = await stage(t);
  const ask = () => inquiries.facetime(made.customer.id, PEER);
  assert.deepEqual(await ask(), { phoneNumber: PEER, available: true, cached: false });
  assert.deepEqual(await ask(), { phoneNumber: PEER, available: true, cached: true });
  says({ imessage: null, facetime: null });
  const unknown = await inquiries.facetime(made.customer.id, "+15550100002");
  assert.deepEqual(unknown, { phoneNumber: "+15550100002", available: false, cached: false });
  says("throws");
  await assert.rejects(inquiries.facetime(made.customer.id, "+15550100003"), hasCode("PROVIDER_ERROR"));
  provider.actions = {};
  const another = () => inquiries.facetime(made.customer.id, "+15550100004");
  await assert.rejects(another(), hasCode("CHANNEL_NOT_SUPPORTED"));
  made.providers.clear();
  await assert.rejects(another(), hasCode("SERVICE_UNAVAILABLE"));
});

test("a negative iMessage availability is cached for five minutes only", async (t) => {
  const { made, inquiries, provider, says } = await stage(t);
  says({ imessage: false, facetime: false });
  const ask = async () => (await inquiries.capabilities(made.customer.id, PEER)).iMessage;
  assert.equal(await ask(), false);
  says({ imessage: true, facetime: true });
  await made.clock.advance(299_000);
  assert.equal(await ask(), false);
  await made.clock.advance(1_000);
  assert.equal(await ask(), true);
  assert.equal(provider.actionCalls.filter(({ name }) => name === "availability").length, 2);
});
