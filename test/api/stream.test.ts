/** `GET /v1/events` as a live stream, over real sockets. */

import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { EVENT_TYPES } from "../../sdk/wire.ts";
import { seeded } from "../support/engine.ts";
import { type EventStream, type Frame, openStream } from "../support/event-stream.ts";
import { runsOf } from "../support/runs.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until, WITHIN_A_SECOND } from "../support/wait.ts";

let api: TestService;

before(async () => {
  api = await startTestService();
});
after(() => api.stop());

const open = (options: Parameters<typeof openStream>[1] = {}) => openStream(api.url, { key: api.key, ...options });

/** Sends a message and returns its id. */
async function send(text: string, key = api.key): Promise<string> {
  const { status, data } = await api.ask("POST", "/v1/messages", {
    key,
    body: { to: "+15005550100", content: { text } },
  });
  assert.equal(status, 202);
  return data.id;
}

/** A customer of its own with a number and a key. */
async function newCustomer(name: string): Promise<string> {
  const asAdmin = { key: api.adminKey };
  const { data: customer } = await api.ask("POST", "/v1/admin/customers", { ...asAdmin, body: { name } });
  const number = { phoneNumber: `+1555${String(Math.floor(performance.now() * 1000) % 10_000_000).padStart(7, "0")}` };
  const made = await api.ask("POST", `/v1/admin/customers/${customer.id}/numbers`, {
    ...asAdmin,
    body: { ...number, provider: "sandbox" },
  });
  assert.equal(made.status, 201);
  const { data: key } = await api.ask("POST", "/v1/admin/keys", {
    ...asAdmin,
    body: { name, customerId: customer.id },
  });
  return key.key;
}

/** All events of a customer, oldest first, as the list has them. */
async function allEvents(key: string): Promise<{ id: string }[]> {
  const events: { id: string }[] = [];
  for (let cursor = ""; ; ) {
    const { data } = await api.ask("GET", `/v1/events?limit=100${cursor}`, { key });
    events.push(...data.events);
    if (!data.pagination.hasMore) return events.reverse();
    cursor = `&cursor=${data.pagination.nextCursor}`;
  }
}

const ids = (frames: readonly { id: string }[]) => frames.map(({ id }) => id);

test("a stream sends each event as it happens, with the exact bytes of the list", async (t) => {
  const stream = await open();
  t.after(() => stream.drop());
  assert.equal(stream.status, 200);
  const { headers } = stream;
  assert.equal(headers["content-type"], "text/event-stream");
  assert.equal(headers["cache-control"], "no-store");
  assert.equal(headers["x-accel-buffering"], "no");
  assert.match(String(headers["x-request-id"]), /^req_/);
  await until(() => stream.comments.length === 1, { what: "the first comment" });
  const messageId = await send('one\ntwo: {"x":1}');
  await until(() => stream.frames.length === 3, { what: "queued, sent and delivered" });
  assert.deepEqual(
    stream.frames.map(({ type, event }) => [type, event.data.messageId]),
    ["message.queued", "message.sent", "message.delivered"].map((type) => [type, messageId]),
  );
  const frames = stream.frames.map(({ id, type, bytes }) => `id: ${id}\nevent: ${type}\ndata: ${bytes}\n\n`).join("");
  assert.equal(stream.text, `: open\n\n${frames}`);
  const listed = await fetch(`${api.url}/v1/events/${stream.frames[0]?.id}`, {
    headers: { authorization: `Bearer ${api.key}` },
  });
  assert.ok((await listed.text()).includes(stream.frames[0]?.bytes ?? "none"), "the same bytes as the list");
});

test("a frame is one write to the socket", async (t) => {
  const chunks: string[] = [];
  const socket = connect(Number(new URL(api.url).port), "127.0.0.1");
  t.after(() => socket.destroy());
  socket.setEncoding("utf8").on("data", (chunk: string) => chunks.push(chunk));
  socket.write(
    `GET /v1/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${api.key}\r\n\r\n`,
  );
  await until(() => chunks.join("").includes(": open"), { what: "the head" });
  await send("x".repeat(3_000));
  await until(() => /message\.delivered[\s\S]*\n\n\r\n/.test(chunks.join("")), { what: "all of the last event" });
  // Chunked framing: each frame is one chunk of its exact length.
  const body = chunks.join("").split("\r\n\r\n").slice(1).join("\r\n\r\n");
  const lengths = [...body.matchAll(/(?:^|\r\n)([0-9a-f]+)\r\n(id: [\s\S]*?\n\n)/g)];
  assert.equal(lengths.length, 3);
  for (const [, length = "", frame = ""] of lengths)
    assert.equal(Number.parseInt(length, 16), Buffer.byteLength(frame));
});

test("a stream filters by type and message; an unknown type is a 400 that lists the allowed ones", async (t) => {
  const [byType, all, typed] = await Promise.all([
    open({ path: "/v1/events?events=message.queued,%20message.delivered", headers: { accept: "*/*" } }),
    open({ path: "/v1/events?events=*", headers: { accept: "application/json" } }),
    open({ path: "/v1/events?type=message.sent", headers: { accept: "application/json, text/event-stream;q=0.9" } }),
  ]);
  const messageId = await send("first");
  const byMessage = await open({ path: `/v1/events?messageId=${messageId}`, headers: { "last-event-id": "evt_none" } });
  const streams = [byType, all, typed, byMessage] as EventStream[];
  t.after(() => streams.map((stream) => stream.drop()));
  await until(() => all?.frames.length === 3 && byMessage.frames.length === 3, { what: "the first message" });
  await send("second");
  await until(() => all?.frames.length === 6 && byType?.frames.length === 4 && typed?.frames.length === 2, {
    what: "the second message",
  });
  assert.deepEqual(
    byType?.frames.map(({ type }) => type),
    ["message.queued", "message.delivered", "message.queued", "message.delivered"],
  );
  assert.deepEqual(
    byMessage.frames.map(({ event }) => event.data.messageId),
    [messageId, messageId, messageId],
  );
  const bad = await api.ask("GET", "/v1/events?events=message.sent,nonsense");
  assert.deepEqual([bad.status, bad.error?.code, bad.error?.details?.[0]?.path], [400, "VALIDATION_ERROR", "events"]);
  for (const type of EVENT_TYPES) assert.ok(bad.error?.message.includes(type), type);
  for (const query of [
    "events=*&cursor=x",
    "events=*&after=evt_1",
    "events=*&type=message.sent",
    "events=",
    "events=,",
  ]) {
    assert.equal((await api.ask("GET", `/v1/events?${query}`)).status, 400, query);
  }
});

test("without the Accept header or the parameter the route returns the list", async () => {
  const { status, data } = await api.ask("GET", "/v1/events?limit=1", { headers: { accept: "*/*" } });
  assert.equal(status, 200);
  assert.equal(data.events.length, 1);
});

test("HEAD returns the headers of a stream and opens none", async () => {
  const answer = await fetch(`${api.url}/v1/events?events=*`, {
    method: "HEAD",
    headers: { authorization: `Bearer ${api.key}` },
  });
  assert.deepEqual([answer.status, answer.headers.get("content-type")], [200, "text/event-stream"]);
  assert.equal(await answer.text(), "");
});

test("a Last-Event-ID that was pruned starts at the oldest event, after the comment `gap`", async (t) => {
  const key = await newCustomer("Gap");
  await send("before", key);
  await until(async () => (await allEvents(key)).length === 3, { what: "three events" });
  const foreign = (await allEvents(api.key))[0]?.id ?? "";
  for (const id of ["evt_0192f0c1-2345-7abc-8def-0123456789ab", "nonsense", foreign]) {
    const stream = await open({ key, headers: { "last-event-id": id } });
    t.after(() => stream.drop());
    await until(() => stream.frames.length === 3, { what: "all that is kept" });
    assert.equal(stream.text.startsWith(": gap\n\nid: "), true, id);
    assert.deepEqual(ids(stream.frames), ids(await allEvents(key)));
  }
  const none = await open({ key, headers: { "last-event-id": "" } });
  t.after(() => none.drop());
  await until(() => none.comments.length === 1, { what: "the head" });
  assert.equal(none.text, ": open\n\n");
});

test("a stream that is dropped many times at random misses and repeats no event, in order", async () => {
  const key = await newCustomer("Dropped");
  const random = seeded(4);
  const messages = runsOf(150, 45);
  const got: Frame[] = [];
  let drops = 0;
  /** One connection, dropped after so many bytes or milliseconds. */
  const read = async () => {
    const headers = { "last-event-id": got.at(-1)?.id ?? "none" };
    const stream = await open({ key, headers, dropAfter: 9 + random(2_500) });
    const end = performance.now() + random(30);
    await until(() => stream.isOver || performance.now() > end, { what: "the drop" });
    stream.drop();
    got.push(...stream.frames);
    drops += 1;
  };
  const sending = (async () => {
    for (let count = 0; count < messages; count += 1) {
      await until(() => drops * 1.4 >= count, { what: "its turn" });
      await send(`message ${count}`, key);
    }
  })();
  while (got.length < 3 * messages) await read();
  await sending;
  assert.deepEqual(ids(got), ids(await allEvents(key)));
  assert.ok(drops >= (messages * 2) / 3, `${drops} drops`);
});

test("a restart loses no event, and ends every stream cleanly", async (t) => {
  const key = await newCustomer("Restarted");
  const first = await open({ key });
  const messageId = await send("before", key);
  await until(() => first.frames.length === 3, { what: "the first message" });
  const startedAt = performance.now();
  await api.restart();
  assert.ok(performance.now() - startedAt < 20_000);
  assert.equal(first.isOver, true);
  assert.ok(first.text.endsWith("\n\n"), "nothing was cut off");
  await send("after", key);
  const second = await open({ key, headers: { "last-event-id": first.frames[0]?.id ?? "" } });
  t.after(() => second.drop());
  await until(() => second.frames.length === 5, { what: "what it has not had" });
  assert.deepEqual(ids([...first.frames.slice(0, 1), ...second.frames]), ids(await allEvents(key)));
  assert.equal(second.frames[0]?.event.data.messageId, messageId);
});

test("streams of a revoked or expired key close within a second, and others stay open", async (t) => {
  const asAdmin = { key: api.adminKey };
  const { data: owner } = await api.ask("GET", "/v1/admin/usage");
  assert.ok(owner.key.id);
  const { data: customers } = await api.ask("GET", "/v1/admin/customers", asAdmin);
  const customerId = customers.customers.at(-1).id;
  const newKey = async (more = {}) => {
    const { data } = await api.ask("POST", "/v1/admin/keys", {
      ...asAdmin,
      body: { name: "short", customerId, ...more },
    });
    return data as { id: string; key: string };
  };
  // Its stream opens before that, also on a busy machine.
  const expiresAt = new Date(Date.now() + 5_000).toISOString();
  const [revoked, expired] = [await newKey(), await newKey({ expiresAt })];
  const streams = [
    await open({ key: revoked.key }),
    await open({ key: revoked.key }),
    await open({ key: expired.key }),
  ];
  const other = await open();
  t.after(() => other.drop());
  await api.ask("DELETE", `/v1/admin/keys/${revoked.id}`, asAdmin);
  const areOver = () => streams[0]?.isOver && streams[1]?.isOver;
  await until(areOver, { ...WITHIN_A_SECOND, what: "the end of the revoked key's" });
  await until(() => Date.now() > Date.parse(expiresAt));
  await until(() => streams[2]?.isOver, { ...WITHIN_A_SECOND, what: "the end of the expired key's" });
  assert.equal(other.isOver, false);
});

test("a reader that stalls is closed when it is 1 MiB behind, and holds up no other", async (t) => {
  const key = await newCustomer("Slow");
  const [slow, quick] = [await open({ key }), await open({ key })];
  t.after(() => quick.drop());
  await until(() => slow.comments.length === 1 && quick.comments.length === 1, { what: "the heads" });
  slow.pause();
  // More than the kernel's buffers take: 20 MB, of which one event has 26 KB.
  const body = { to: "+15005550100", content: { text: "x".repeat(10_000) }, metadata: { more: "y".repeat(16_000) } };
  for (let sent = 0; sent < 250; sent += 10) {
    const answers = Array.from({ length: 10 }, () => api.ask("POST", "/v1/messages", { key, body }));
    assert.ok((await Promise.all(answers)).every(({ status }) => status === 202));
  }
  await until(() => quick.frames.length === 750, { what: "all events at the other", limitMs: 60_000 });
  assert.equal(quick.isOver, false);
  slow.resume();
  await until(() => slow.isOver, { what: "the end of the slow one" });
  assert.ok(slow.frames.length < 750, "it was given everything");
  const rest = await open({ key, headers: { "last-event-id": slow.frames.at(-1)?.id ?? "" } });
  t.after(() => rest.drop());
  await until(() => slow.frames.length + rest.frames.length === 750, { what: "the rest" });
  assert.deepEqual(ids([...slow.frames, ...rest.frames]), ids(quick.frames));
});

test("one customer may open 800 of the 1,000 streams; the next is 503 with Retry-After, and other customers can still open theirs", async () => {
  const key = await newCustomer("Other");
  const streams = await Promise.all(Array.from({ length: 800 }, () => open()));
  try {
    assert.ok(streams.every(({ status }) => status === 200));
    const { status, error, headers } = await api.ask("GET", "/v1/events?events=*");
    assert.deepEqual([status, error?.code], [503, "SERVICE_UNAVAILABLE"]);
    assert.match(error?.message ?? "", /800 open streams, its share of 1000/);
    assert.ok(Number(headers.get("retry-after")) > 0);
    const other = await open({ key });
    assert.equal(other.status, 200, "another customer's stream");
    other.drop();
    const messageId = await send("to all");
    await until(() => streams.every(({ frames }) => frames.length === 3), { what: "three events at each" });
    assert.ok(streams.every(({ frames }) => frames[0]?.event.data.messageId === messageId));
    streams.pop()?.drop();
    let again = await open();
    // The service learns of the drop a moment later.
    for (let tries = 0; again.status === 503 && tries < 100; tries += 1) again = await open();
    assert.equal(again.status, 200);
    streams.push(again);
  } finally {
    for (const stream of streams) stream.drop();
  }
});

test("a stream counts once for the rate limit, however long it is open", async (t) => {
  const limited = await startTestService({ TB_RATE_LIMIT: "2/60s" });
  t.after(() => limited.stop());
  const stream = await openStream(limited.url, { key: limited.key });
  assert.equal(stream.headers["x-ratelimit-remaining"], "1");
  assert.equal((await limited.ask("GET", "/v1/numbers")).status, 200);
  assert.equal((await openStream(limited.url, { key: limited.key })).status, 429);
  assert.equal(stream.isOver, false);
  stream.drop();
});
