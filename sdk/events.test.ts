import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { Tightbeam } from "./client.ts";
import { TightbeamError } from "./errors.ts";
import type { Event } from "./wire.ts";

const apiKey = "tb_0123456789abcdef0123456789abcdef";

/** A service whose newest event is `newest`, and that streams: `answer` gets each connection in turn. */
async function startStream(
  t: TestContext,
  answer: (turn: number, request: IncomingMessage, out: ServerResponse) => void,
  newest: string | null = null,
) {
  const asked: { url: string; lastEventId: string | undefined }[] = [];
  const server = createServer((request, out) => {
    if (request.headers.accept === "application/json") {
      const data = {
        events: newest === null ? [] : [{ id: newest }],
        pagination: { hasMore: false, nextCursor: null },
      };
      out.end(JSON.stringify({ success: true, data, requestId: "req_1" }));
      return;
    }
    const lastEventId = request.headers["last-event-id"];
    asked.push({ url: request.url ?? "", lastEventId: typeof lastEventId === "string" ? lastEventId : undefined });
    answer(asked.length, request, out);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const waits: number[] = [];
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new Tightbeam({ apiKey, baseUrl, wait: async (delayMs) => void waits.push(delayMs) });
  return { client, asked, waits };
}

function frame(id: number): string {
  const event = { id: `evt_${id}`, type: "message.sent", timestamp: "2026-01-01T00:00:00.000Z", data: { text: "ä\n" } };
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

function begin(out: ServerResponse): ServerResponse {
  out.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8" });
  out.write(": open\n\n");
  return out;
}

async function take(events: AsyncIterable<Event>, count: number): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of events) {
    ids.push(id);
    if (ids.length === count) break;
  }
  return ids;
}

test("after a lost connection the stream continues with the next event", async (t) => {
  const { client, asked } = await startStream(t, (turn, _, out) => {
    begin(out).write(frame(turn * 2 - 1));
    // Half of the next one is on the wire when the connection breaks: it comes again, whole.
    out.write(frame(turn * 2 + 1).slice(0, 20), () => out.destroy());
  });
  assert.deepEqual(await take(client.events.stream(), 4), ["evt_1", "evt_3", "evt_5", "evt_7"]);
  assert.deepEqual(
    asked.map(({ lastEventId }) => lastEventId),
    ["evt_00000000-0000-7000-8000-000000000000", "evt_1", "evt_3", "evt_5"],
  );
});

test("nothing is missed if the connection breaks before the first event: the stream begins after the newest one", async (t) => {
  const { client, asked } = await startStream(
    t,
    (turn, _, out) => {
      if (turn === 1) begin(out).write(": still here\n\n", () => out.destroy());
      else begin(out).write(frame(8));
    },
    "evt_7",
  );
  assert.deepEqual(await take(client.events.stream(), 1), ["evt_8"]);
  assert.deepEqual(
    asked.map(({ lastEventId }) => lastEventId),
    ["evt_7", "evt_7"],
  );
});

test("without any event so far, a gap comment is not reported", async (t) => {
  const { client } = await startStream(t, (_, __, out) => void begin(out).write(`: gap\n\n${frame(1)}`));
  let gaps = 0;
  assert.deepEqual(await take(client.events.stream({ onGap: () => void gaps++ }), 1), ["evt_1"]);
  assert.equal(gaps, 0);
});

test("frames that are cut anywhere on the wire, even within a character, are put together", async (t) => {
  const bytes = Buffer.from(frame(1) + frame(2) + frame(3));
  const { client } = await startStream(t, (_, __, out) => {
    begin(out);
    const send = (at: number) => {
      if (at < bytes.length) out.write(bytes.subarray(at, at + 7), () => setImmediate(send, at + 7));
    };
    send(0);
  });
  const texts: unknown[] = [];
  for await (const event of client.events.stream({ events: ["message.sent"] })) {
    if (event.type === "message.sent") texts.push(event.data.text);
    if (texts.length === 3) break;
  }
  assert.deepEqual(texts, ["ä\n", "ä\n", "ä\n"]);
});

test("a repeated event is yielded once, and a gap is reported", async (t) => {
  const { client, asked } = await startStream(t, (_, __, out) => {
    begin(out).write(`: gap\n\n${frame(1)}${frame(1)}: still here\n\n${frame(2)}`);
  });
  let gaps = 0;
  const events = client.events.stream({ lastEventId: "evt_0", messageId: "msg_1", onGap: () => void gaps++ });
  assert.deepEqual(await take(events, 2), ["evt_1", "evt_2"]);
  assert.equal(gaps, 1);
  assert.deepEqual(asked, [{ url: "/v1/events?events=*&messageId=msg_1", lastEventId: "evt_0" }]);
});

test("temporary failures are retried after longer and longer waits; final ones are thrown", async (t) => {
  const { client, waits } = await startStream(t, (turn, _, out) => {
    const refuse = (status: number, code: string, headers = {}) =>
      out
        .writeHead(status, headers)
        .end(JSON.stringify({ success: false, error: { code, message: code }, requestId: "r" }));
    if (turn === 1) out.destroy();
    else if (turn === 2) refuse(503, "SERVICE_UNAVAILABLE", { "Retry-After": "7" });
    else if (turn === 3) begin(out).end();
    else refuse(401, "UNAUTHORIZED");
  });
  await assert.rejects(take(client.events.stream(), 1), (error) => {
    assert.ok(error instanceof TightbeamError);
    assert.equal(error.code, "UNAUTHORIZED");
    return true;
  });
  assert.deepEqual(waits, [1_000, 7_000, 4_000]);
});

test("the caller ends a stream by a signal, or by leaving the loop", async (t) => {
  let closed = 0;
  const { client } = await startStream(t, (_, request, out) => {
    begin(out).write(frame(1));
    request.once("close", () => void closed++);
  });
  const stop = new AbortController();
  const events = client.events.stream({ signal: stop.signal });
  assert.equal((await events.next()).value?.id, "evt_1");
  const next = events.next();
  stop.abort(new Error("enough"));
  await assert.rejects(next, /enough/);
  assert.deepEqual(await take(client.events.stream(), 1), ["evt_1"]);
  assert.ok(closed <= 2);
});

test("a key is refused in a page, where everybody could read it; without a key the browser sends its cookie", () => {
  const page = globalThis as { document?: unknown; window?: unknown };
  page.document = {};
  page.window = {};
  try {
    assert.throws(() => new Tightbeam({ apiKey }), /must not be used in a browser/);
    assert.ok(new Tightbeam());
  } finally {
    delete page.document;
    delete page.window;
  }
  assert.throws(() => new Tightbeam(), /apiKey is missing/);
});
