/** The live stream in simulated time: heartbeats, keys, catching up, and the end of the last stream. */

import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext as Test, test } from "node:test";
import { commitAll, type TestContext, testContext } from "../../test/support/context.ts";
import { type EventStream, openStream } from "../../test/support/event-stream.ts";
import { until } from "../../test/support/wait.ts";
import { makeEvent } from "../core/event.ts";
import type { EventId } from "../core/id.ts";
import { change } from "../engine/commit.ts";
import { OpenResponses } from "./open-responses.ts";
import { Streams, type Subscription } from "./stream.ts";

interface Stage extends TestContext {
  streams: Streams;
  openResponses: OpenResponses;
  open(more?: Partial<Subscription>): Promise<EventStream>;
  /**
   * Commits an event of the context's customer, of `bytes` bytes or a few more, and notifies its listeners unless
   * `silently`.
   */
  happen(silently?: boolean, bytes?: number): Promise<EventId>;
  responses: ServerResponse[];
}

async function stage(t: Test): Promise<Stage> {
  const made = await testContext();
  const { deps, customer, apiKey } = made;
  const openResponses = new OpenResponses();
  const streams = new Streams(deps, openResponses);
  const wanted: Partial<Subscription>[] = [];
  const responses: ServerResponse[] = [];
  const server = createServer(async (_, response) => {
    responses.push(response);
    const plain = {
      key: apiKey,
      sessionId: null,
      customerId: customer.id,
      types: null,
      messageId: null,
      lastEventId: null,
      wire: null,
    };
    const reply = await streams.open({ ...plain, ...wanted.shift() }, false);
    assert.ok("stream" in reply);
    response.writeHead(200, reply.headers);
    reply.stream(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await made.close();
  });
  return {
    ...made,
    streams,
    openResponses,
    responses,
    async open(more = {}) {
      wanted.push(more);
      const stream = await openStream(url);
      await until(() => stream.comments.length > 0, { what: "the first comment" });
      return stream;
    },
    async happen(silently = false, bytes = 0) {
      const id = deps.newId("evt");
      const of = { customerId: customer.id, type: "webhook.test", messageId: null, sequence: 0 } as const;
      const event = makeEvent({ ...of, id, correlationId: "cor", createdAt: 0 }, { padding: "x".repeat(bytes) });
      if (silently) await commitAll(deps, [{ op: "event", event, callbackUrl: null }]);
      else await change(deps, () => ({ transaction: [{ op: "event", event, callbackUrl: null }], value: null }));
      return id;
    },
  };
}

test("the stream sends a comment every 15 s, and then also events that no commit of this process announced", async (t) => {
  const { open, happen, clock } = await stage(t);
  const stream = await open();
  for (let beats = 1; beats <= 3; beats += 1) {
    await clock.advance(15_000);
    await until(() => stream.comments.length === 1 + beats, { what: "a heartbeat" });
  }
  assert.equal(stream.text, `: open\n\n${":\n\n".repeat(3)}`);
  const silent = await happen(true);
  await clock.advance(14_999);
  assert.equal(stream.frames.length, 0);
  await clock.advance(1);
  await until(() => stream.frames.length === 1, { what: "the event" });
  assert.equal(stream.frames[0]?.id, silent);
});

test("many streams of a customer share one read for an event, and idle ones read nothing", async (t) => {
  const { open, happen, deps, clock } = await stage(t);
  const streams = await Promise.all(Array.from({ length: 50 }, () => open()));
  let reads = 0;
  const { db } = deps.store;
  const { selectFrom } = db;
  t.after(() => Object.assign(db, { selectFrom }));
  Object.assign(db, {
    selectFrom(table: "events") {
      reads += 1;
      return selectFrom.call(db, table);
    },
  });
  await clock.advance(14_000);
  assert.ok(reads <= 1, `${reads} reads of idle streams: one of the key at most`);
  reads = 0;
  await happen();
  await until(() => streams.every(({ frames }) => frames.length === 1), { what: "the event at each" });
  assert.ok(reads <= 2, `${reads} reads`);
});

test("the keys of streams are checked once at a time, however long the database takes", async (t) => {
  const { open, deps, clock } = await stage(t);
  const stream = await open();
  const { findKey } = deps.configCache;
  let checks = 0;
  let answer = () => {};
  const answered = new Promise<null>((resolve) => {
    answer = () => resolve(null);
  });
  Object.assign(deps.configCache, {
    key: () => null,
    findKey() {
      checks += 1;
      return answered;
    },
  });
  t.after(() => Object.assign(deps.configCache, { findKey }));
  await clock.advance(10_000);
  assert.equal(checks, 1);
  answer();
  await until(() => stream.isOver, { what: "the end of the stream" });
});

test("the end of the last stream leaves no timer and no listener", async (t) => {
  const { open, happen, clock, deps, customer } = await stage(t);
  let listening = 0;
  const { eventNotifier } = deps;
  const listen = eventNotifier.listen.bind(eventNotifier);
  eventNotifier.listen = (id, listener) => {
    listening += 1;
    const stop = listen(id, listener);
    return () => {
      listening -= 1;
      stop();
    };
  };
  assert.ok(customer.id);
  const before = clock.pending;
  const streams = [await open(), await open()];
  assert.deepEqual([listening, clock.pending], [1, before + 2]);
  for (const stream of streams) stream.drop();
  await until(() => listening === 0 && clock.pending === before, { what: "the end of everything" });
  const last = await open();
  const id = await happen();
  await until(() => last.frames.length === 1, { what: "an event at a new stream" });
  assert.equal(last.frames[0]?.id, id);
});

test("a client with Last-Event-ID receives every missed event as fast as it reads, and then new events", async (t) => {
  const { open, happen } = await stage(t);
  const first = await happen();
  const missed: EventId[] = [];
  // Ten times the limit of a live reader's backlog.
  for (let count = 0; count < 210; count += 1) missed.push(await happen(false, 50_000));
  const stream = await open({ lastEventId: first });
  const meanwhile = await happen();
  await until(() => stream.frames.length === 211, { what: "all of it" });
  const after = await happen();
  await until(() => stream.frames.length === 212, { what: "what is new" });
  assert.deepEqual(
    stream.frames.map(({ id }) => id),
    [...missed, meanwhile, after],
  );
});

test("the service closes the stream of a client that reads nothing for 30 s while it catches up", async (t) => {
  const { open, happen, clock, responses } = await stage(t);
  for (let count = 0; count < 300; count += 1) await happen(false, 100_000);
  const stream = await open({ lastEventId: "evt_none" });
  stream.pause();
  const [response] = responses;
  await until(() => response?.writableNeedDrain, { what: "a reader that is behind" });
  const behind = response?.writableLength ?? 0;
  assert.ok(behind < 1_048_576, `${behind} bytes wait`);
  await clock.advance(29_000);
  assert.equal(response?.destroyed, false);
  await clock.advance(2_000);
  assert.equal(response?.destroyed, true);
});

test("a stop ends streams in good order, and none begins after it", async (t) => {
  const { open, happen, openResponses, streams, apiKey, customer } = await stage(t);
  const stream = await open();
  await happen();
  await until(() => stream.frames.length === 1, { what: "the event" });
  openResponses.stop();
  await until(() => stream.isOver, { what: "the end" });
  const wanted = {
    key: apiKey,
    sessionId: null,
    customerId: customer.id,
    types: null,
    messageId: null,
    lastEventId: null,
    wire: null,
  };
  await assert.rejects(streams.open(wanted, false), { code: "SERVICE_UNAVAILABLE" });
});
