/** `GET /v1/messages` by its filters, and as a feed of changes. */

import assert from "node:assert/strict";
import { type TestContext as NodeTest, test } from "node:test";
import type { Message as Listed } from "../../sdk/wire.ts";
import { messageListRoutes } from "../../server/api/message-lists.ts";
import type { MessageId } from "../../server/core/id.ts";
import type { Message } from "../../server/core/message.ts";
import { deleteMessage } from "../../server/engine/messages/actions.ts";
import type { Operation } from "../../server/store/store.ts";
import { commitAll, type Tenant } from "../support/context.ts";
import { send, TO } from "../support/sending.ts";
import { type Served, served } from "../support/served.ts";
import { eventOf } from "../support/webhooks.ts";

const OTHER = "+15550100002";
const DAY_MS = 86_400_000;

interface Answer {
  messages: Listed[];
  deleted?: string[];
  pagination: { hasMore: boolean; nextCursor: string | null };
}

const open = (t: NodeTest): Promise<Served> => served(t, (deps) => messageListRoutes(deps));

function listing(api: Served) {
  return (query: Record<string, string | number> = {}, key = api.key): Promise<Answer> => {
    const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
    return api.data<Answer>(200, "GET", `/v1/messages?${text}`, { key });
  };
}

const idsOf = ({ messages }: Answer) => messages.map(({ id }) => id);

/** Changes a stored message, with its event. */
async function change(api: Served, message: Message, set: Partial<Message>): Promise<void> {
  const { id } = message;
  const [row] = await api.deps.store.db.selectFrom("messages").select("version").where("id", "=", id).execute();
  const update: Operation = { op: "update", table: "messages", id, version: row?.version ?? 0, set };
  const event = { ...eventOf(api), messageId: id };
  await commitAll(api.deps, [update, { op: "event", event, callbackUrl: null }]);
}

test("messages are filtered by channel, by every form of a chat id, and by words of their text", async (t) => {
  const api = await open(t);
  const list = listing(api);
  const first = await send(api, { to: TO, content: { text: "Your TABLE is ready, Jürgen" } });
  const second = await send(api, { to: OTHER, content: { text: "The table is not ready" } });
  const third = await send(api, { to: TO, content: { text: "Bye" } });
  await change(api, second, { channel: "sms" });
  assert.deepEqual(idsOf(await list({ channel: "sms" })), [second.id]);
  assert.deepEqual(idsOf(await list({ channel: "imessage" })), [third.id, first.id]);
  for (const chatId of [first.chatId ?? "", TO]) assert.deepEqual(idsOf(await list({ chatId })), [third.id, first.id]);
  assert.deepEqual(idsOf(await list({ q: "table READY" })), [second.id, first.id]);
  assert.deepEqual(idsOf(await list({ q: "ready table jÜRGEN" })), [first.id]);
  assert.deepEqual(idsOf(await list({ q: "100%_" })), []);
  assert.deepEqual(idsOf(await list({ q: "table", chatId: OTHER, channel: "sms" })), [second.id]);
});

test("an invalid filter is a 400 with its field", async (t) => {
  const api = await open(t);
  const { id } = await send(api, { to: TO });
  const theirs = await api.addTenant("Other");
  const [plain] = [await listing(api)({ limit: 1 })];
  assert.equal(plain.pagination.nextCursor, null);
  await send(api, { to: TO });
  const { nextCursor } = (await listing(api)({ limit: 1 })).pagination;
  const feed = (await listing(api)({ updatedAfter: "2020-01-01T00:00:00Z" })).pagination.nextCursor;
  const refused: [query: string, path: string][] = [
    ["channel=fax", "channel"],
    ["q=", "q"],
    ["q=%20%20", "q"],
    [`q=${"x".repeat(201)}`, "q"],
    ["chatId=chat_none", "chatId"],
    ["chatId=%2B15550100009", "chatId"],
    ["updatedAfter=yesterday", "updatedAfter"],
    ["updatedAfter=2020-01-01T00:00:00Z&offset=3", "offset"],
    [`updatedAfter=2020-01-01T00:00:00Z&cursor=${nextCursor}`, "cursor"],
    [`cursor=${feed}&offset=1`, "offset"],
    ["cursor=bm9uZQ", "cursor"],
  ];
  for (const [query, path] of refused) {
    assert.deepEqual(await api.refused("VALIDATION_ERROR", "GET", `/v1/messages?${query}`), [path], query);
  }
  const [chat] = await api.deps.store.db.selectFrom("chats").select("id").execute();
  const asked = { key: theirs.key };
  assert.deepEqual(await api.refused("VALIDATION_ERROR", "GET", `/v1/messages?chatId=${chat?.id}`, asked), ["chatId"]);
  assert.deepEqual(idsOf(await listing(api)({ q: "hello" }, theirs.key)), [], id);
});

test("paging by cursor returns each message once, also with offset and many filters", async (t) => {
  const api = await open(t);
  const list = listing(api);
  const sent: Message[] = [];
  for (let index = 0; index < 25; index += 1) {
    sent.push(
      await send(api, { to: index % 3 === 0 ? OTHER : TO, content: { text: index % 2 === 0 ? "even" : "odd" } }),
    );
  }
  const expected = sent.filter((_, index) => index % 3 === 0 && index % 2 === 0).toReversed();
  const query = { to: OTHER, q: "even", createdAfter: "2000-01-01T00:00:00Z", limit: 2 };
  const found: string[] = [];
  let page = await list({ ...query, offset: 1 });
  for (;;) {
    found.push(...idsOf(page));
    if (page.pagination.nextCursor === null) break;
    page = await list({ ...query, cursor: page.pagination.nextCursor });
  }
  assert.deepEqual(
    found,
    expected.slice(1).map(({ id }) => id),
  );
});

/** Follows a feed until it has no more now. */
async function follow(
  api: Served,
  query: Record<string, string | number>,
  cursor: string | null,
  tenant: Tenant = api,
) {
  const list = listing(api);
  const seen: Listed[] = [];
  const deleted: string[] = [];
  for (let at = cursor; ; ) {
    const page = await list({ ...query, ...(at === null ? {} : { cursor: at }) }, tenant.key);
    seen.push(...page.messages);
    deleted.push(...(page.deleted ?? assert.fail("a feed names what is deleted")));
    at = page.pagination.nextCursor ?? assert.fail("a feed always has a cursor");
    if (!page.pagination.hasMore) return { seen, deleted, cursor: at };
  }
}

test("the change feed returns changes since a cursor, oldest first, and continues from its own cursor", async (t) => {
  const api = await open(t);
  const old = await send(api, { to: TO, content: { text: "old" } });
  await api.clock.advance(600_000);
  const updatedAfter = new Date(api.clock.now()).toISOString();
  const first = await send(api, { to: TO, content: { text: "first" } });
  const second = await send(api, { to: TO, content: { text: "second" } });
  await change(api, first, { readAt: api.clock.now() });
  const begun = await follow(api, { updatedAfter, limit: 1 }, null);
  assert.deepEqual(
    [...new Set(begun.seen.map(({ id }) => id))].toSorted(),
    [first.id, second.id].toSorted(),
    "what did not change since is not in it",
  );
  assert.equal(begun.seen.at(-1)?.id, first.id, "the last change is the last");
  assert.ok(
    begun.seen.filter(({ id }) => id === first.id).every(({ readAt }) => readAt !== null),
    "as it now is",
  );
  const idle = await follow(api, { updatedAfter }, begun.cursor);
  assert.deepEqual([idle.seen, idle.deleted], [[], []]);
  await change(api, old, { deliveredAt: api.clock.now() });
  const next = await follow(api, {}, idle.cursor);
  assert.deepEqual(
    next.seen.map(({ id }) => id),
    [old.id],
    "by the cursor alone too",
  );
  const other = await api.addTenant("Other");
  assert.deepEqual((await follow(api, { updatedAfter }, null, other)).seen, []);
});

test("one page of the change feed has a message once, at its last change", async (t) => {
  const api = await open(t);
  const first = await send(api, { to: TO });
  const second = await send(api, { to: TO });
  for (let round = 0; round < 5; round += 1) await change(api, first, { sequence: 10 + round });
  const { messages } = await listing(api)({ updatedAfter: "2020-01-01T00:00:00Z" });
  assert.deepEqual(
    messages.map(({ id }) => id),
    [second.id, first.id],
  );
});

test("a change that commits after a page was read is on the next page, whatever its timestamp", async (t) => {
  const api = await open(t);
  const late = await send(api, { to: TO });
  const { cursor } = await follow(api, { updatedAfter: "2020-01-01T00:00:00Z" }, null);
  const event = { ...eventOf(api), messageId: late.id, createdAt: api.clock.now() - 30_000 };
  await commitAll(api.deps, [{ op: "event", event, callbackUrl: null }]);
  assert.deepEqual(
    (await follow(api, {}, cursor)).seen.map(({ id }) => id),
    [late.id],
  );
});

test("the change feed includes deletions, and supports filters", async (t) => {
  const api = await open(t);
  const gone = await send(api, { to: TO, content: { text: "secret table" } });
  const kept = await send(api, { to: OTHER, content: { text: "kept table" } });
  await change(api, gone, { status: "delivered" });
  const begun = await follow(api, { updatedAfter: "2020-01-01T00:00:00Z", q: "table", to: TO }, null);
  assert.deepEqual(
    begun.seen.map(({ id }) => id),
    [gone.id],
  );
  await deleteMessage(api.deps, api.customer.id, gone.id);
  const after = await follow(api, { q: "table", to: TO }, begun.cursor);
  assert.deepEqual([after.seen.map(({ id }) => id), after.deleted], [[], [gone.id]]);
  const filtered = await follow(api, { updatedAfter: "2020-01-01T00:00:00Z", to: OTHER }, null);
  assert.deepEqual([filtered.seen.map(({ id }) => id), filtered.deleted], [[kept.id], []]);
});

test("the change feed misses nothing after events were pruned: neither at its beginning nor after a long pause", async (t) => {
  const api = await open(t);
  const { store, settings } = api.deps;
  const retentionMs = settings.retentionMs ?? 0;
  const first = await send(api, { to: TO });
  const second = await send(api, { to: OTHER });
  await api.clock.advance(600_000);
  const early = await follow(api, { updatedAfter: "2020-01-01T00:00:00Z" }, null);
  assert.equal(early.seen.length, 2);
  await api.clock.advance(DAY_MS);
  await change(api, second, { deliveredAt: api.clock.now(), updatedAt: api.clock.now() });
  await api.clock.advance(retentionMs + DAY_MS);
  const third = await send(api, { to: TO });
  while ((await store.prune(api.clock.real() - retentionMs, 100)) > 0);
  const kept = await store.db.selectFrom("events").select("message_id").execute();
  assert.deepEqual(
    kept.map((row) => row.message_id),
    [third.id as MessageId],
  );
  const anew = await follow(api, { updatedAfter: "2020-01-01T00:00:00Z", limit: 1 }, null);
  assert.deepEqual(
    anew.seen.map(({ id }) => id),
    [first.id, second.id, third.id],
  );
  const after = await follow(api, {}, early.cursor);
  assert.deepEqual(
    after.seen.map(({ id }) => id),
    [second.id, third.id],
    "of the first nothing changed meanwhile",
  );
});
