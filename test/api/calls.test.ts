/** FaceTime calls over HTTP: the whole service, its sandbox, and a receiver. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Call, CallList, CallStatus } from "../../sdk/wire.ts";
import { SECRET, startNotifiedService } from "../support/notified.ts";
import { isSigned } from "../support/receiver.ts";
import { until } from "../support/wait.ts";

const RINGS = "+15005550114";
const IS_MISSED = "+15005550115";
const BY_HAND = "+15005550199";

const { api, receiver, stop } = await startNotifiedService();
after(stop);

const list = async (query = "", key?: string) =>
  (await api.ask("GET", `/v1/facetime/calls${query}`, key === undefined ? {} : { key })).data as CallList;
const get = async (id: string) => (await api.ask("GET", `/v1/facetime/calls/${id}`)).data as Call;
const act = (action: string, more: object = {}) =>
  api.ask("POST", `/v1/sandbox/phones/${BY_HAND}/calls`, { body: { action, ...more } });
const eventsOf = (caller: string) =>
  receiver.received.filter(({ event }) => event.type.startsWith("facetime.") && event.data.caller === caller);

/** Sends a message to a contact that calls after it, and waits for the end of the call. */
async function calledBy(contact: string, end: CallStatus): Promise<Call> {
  await api.ask("POST", "/v1/messages", { body: { to: contact, content: { text: "Call me" } } });
  const find = async () => (await list()).calls.find(({ caller, status }) => caller === contact && status === end);
  const call = await until(find, { what: `a call of ${contact} that is ${end}` });
  assert.ok(call !== undefined);
  return call;
}

for (const [contact, end] of [
  [RINGS, "disconnected"],
  [IS_MISSED, "missed"],
] as const) {
  test(`${contact} rings, and the call is ${end}: one record with its history, two signed events`, async () => {
    const call = await calledBy(contact, end);
    const { id, callUuid, to, history, createdAt, updatedAt } = call;
    assert.match(id, /^call_/);
    assert.deepEqual(await get(id), call);
    assert.deepEqual(
      history.map(({ status }) => status),
      ["incoming", end],
    );
    assert.deepEqual([history[0]?.at, history[1]?.at], [createdAt, updatedAt]);
    await until(() => eventsOf(contact).length === 2);
    const events = Object.fromEntries(eventsOf(contact).map(({ event }) => [event.type, event.data]));
    const data = { callId: id, callUuid, from: contact, caller: contact, address: contact, to };
    const rest = { isAudio: !call.isVideo, isVideo: call.isVideo, isOutgoing: false };
    assert.deepEqual(events, {
      "facetime.incoming": { ...data, ...rest, status: "incoming" },
      "facetime.status_changed": { ...data, ...rest, status: end },
    });
    assert.ok(eventsOf(contact).every((received) => isSigned(received, SECRET)));
  });
}

test("a phone rings, is answered and hangs up on request: one call through its whole lifecycle", async () => {
  const rung = await act("ring", { video: true });
  const { id } = rung.data;
  assert.deepEqual([rung.data.status, rung.data.isVideo], ["incoming", true]);
  await act("answer");
  assert.equal((await get(id)).status, "answered");
  await act("hangup");
  assert.deepEqual(
    (await get(id)).history.map(({ status }) => status),
    ["incoming", "answered", "disconnected"],
  );
  await until(() => eventsOf(BY_HAND).length === 3);
});

test("GET /v1/facetime/calls pages newest first, filters by status, and refuses an unknown status", async () => {
  await act("ring");
  await act("miss");
  const { calls } = await list();
  const ids = calls.map(({ id }) => id);
  assert.ok(ids.length >= 4);
  assert.deepEqual(ids, [...ids].sort().reverse());
  const paged: string[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const found: CallList = await list(`?limit=1${cursor === "" ? "" : `&cursor=${cursor}`}`);
    paged.push(...found.calls.map(({ id }) => id));
    cursor = found.pagination.nextCursor;
  }
  assert.deepEqual(paged, ids);
  assert.deepEqual(
    (await list("?status=missed")).calls,
    calls.filter(({ status }) => status === "missed"),
  );
  const refused = await api.ask("GET", "/v1/facetime/calls?status=ringing&cursor=x");
  assert.deepEqual([refused.status, refused.error?.details?.[0]?.path], [400, "status"]);
});

test("an unknown call and another customer's call are 404 NOT_FOUND; another customer's list is empty", async () => {
  const admin = { key: api.adminKey };
  const customer = await api.ask("POST", "/v1/admin/customers", { ...admin, body: { name: "Stranger" } });
  const body = { name: "Stranger", customerId: customer.data.id };
  const { key } = (await api.ask("POST", "/v1/admin/keys", { ...admin, body })).data;
  const [call] = (await list()).calls;
  assert.deepEqual((await list("", key)).calls, []);
  for (const answer of [
    await api.ask("GET", `/v1/facetime/calls/${call?.id}`, { key }),
    await api.ask("GET", "/v1/facetime/calls/call_00000000-0000-7000-8000-000000000000"),
  ]) {
    assert.deepEqual([answer.status, answer.error?.code], [404, "NOT_FOUND"]);
  }
});
