/** Impossible phone numbers: refused in new requests, and kept in stored records. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";

/** Too short for a country of the North American numbering plan. */
const IMPOSSIBLE = "+1500";
const POSSIBLE = "+15005550100";

let api: TestService;

before(async () => {
  api = await startTestService();
});
after(() => api.stop());

const REFUSED: [title: string, path: string, body: object | null, field: string][] = [
  ["a message", "/v1/messages", { to: IMPOSSIBLE, content: { text: "Hi" } }, "to"],
  ["a dry run", "/v1/messages?dryRun=true", { to: IMPOSSIBLE, content: { text: "Hi" } }, "to"],
  [
    "a carousel",
    "/v1/messages/carousel",
    { to: IMPOSSIBLE, mediaUrls: ["https://example.com/a", "https://example.com/b"] },
    "to",
  ],
  ["a payment request", "/v1/payments/request", { to: IMPOSSIBLE, amount: 5 }, "to"],
  ["a group", "/v1/chats/groups", { participants: [POSSIBLE, IMPOSSIBLE] }, "participants[1]"],
  ["a question about its channels", `/v1/capabilities/${IMPOSSIBLE}`, null, "phone"],
];

for (const [title, path, body, field] of REFUSED) {
  test(`${title} to an impossible phone number is INVALID_PHONE_NUMBER, and says so`, async () => {
    const { status, error } = await api.ask(body === null ? "GET" : "POST", path, body === null ? {} : { body });
    assert.deepEqual([status, error?.code, error?.details?.[0]?.path], [400, "INVALID_PHONE_NUMBER", field]);
    assert.match(error?.message ?? "", /not a possible phone number/);
  });
}

test("an impossible number cannot be added to a group", async () => {
  const { data: group } = await api.ask("POST", "/v1/chats/groups", {
    body: { participants: [POSSIBLE, "+15005550101"] },
  });
  const path = `/v1/chats/${group.id}/participants`;
  const { status, error } = await api.ask("POST", path, { body: { participant: IMPOSSIBLE } });
  assert.deepEqual([status, error?.code], [400, "INVALID_PHONE_NUMBER"]);
});

test("a thread, a contact and an opt-out of an impossible number keep working", async () => {
  const received = await api.ask("POST", `/v1/sandbox/phones/${IMPOSSIBLE}/messages`, {
    body: { text: "From nowhere" },
  });
  assert.equal(received.status, 200);
  const { data: chat } = await api.ask("GET", `/v1/chats/${IMPOSSIBLE}`);
  assert.equal(chat.id, received.data.chatId);
  const answer = await api.ask("POST", "/v1/messages", {
    body: { chatId: chat.id, content: { text: "Who is this?" } },
  });
  assert.deepEqual([answer.status, answer.data.to], [202, IMPOSSIBLE]);
  const { data: contact, status } = await api.ask("POST", "/v1/contacts", { body: { phoneNumber: IMPOSSIBLE } });
  assert.equal(status, 201);
  const changed = await api.ask("PUT", `/v1/contacts/${contact.id}`, {
    body: { phoneNumber: IMPOSSIBLE, firstName: "No" },
  });
  assert.equal(changed.status, 200);
  const { data: numbers } = await api.ask("GET", "/v1/numbers");
  const optOut = `/v1/opt-outs/${numbers[0].phoneNumber}/${IMPOSSIBLE}`;
  assert.equal((await api.ask("PUT", optOut)).status, 200);
  const listed = await api.ask("GET", `/v1/messages?to=${encodeURIComponent(IMPOSSIBLE)}`);
  assert.equal(listed.data.messages.length > 0, true);
});
