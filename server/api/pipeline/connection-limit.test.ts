/** Connections stay under the limit of open files; idle ones are closed before new ones are refused. */

import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { AUTH, http, startEdge, type TestEdge } from "../../../test/support/edge.ts";
import { until } from "../../../test/support/wait.ts";
import { route } from "../route.ts";
import { connectionsMaxOf, readOpenFilesMax } from "./connection-limit.ts";

interface Client {
  socket: Socket;
  received: string;
  isClosed: boolean;
}

function open(t: TestContext, { port }: TestEdge, request: string): Client {
  const client: Client = { socket: connect({ port, host: "127.0.0.1" }), received: "", isClosed: false };
  t.after(() => client.socket.destroy());
  client.socket.on("error", () => {});
  client.socket.on("close", () => {
    client.isClosed = true;
  });
  client.socket.on("data", (chunk) => {
    client.received += chunk;
  });
  client.socket.write(request);
  return client;
}

const QUICK = http("GET /v1/quick", [AUTH]);
const HANGING = http("GET /v1/hanging", [AUTH]);
const ROUTES = [
  route({ method: "GET", path: "/v1/quick", scope: "messages", handle: () => ({ data: 1 }) }),
  route({ method: "GET", path: "/v1/hanging", scope: "messages", handle: () => new Promise<never>(() => {}) }),
];

test("at the limit the oldest idle connection is closed, and a new one is refused only if none is idle", async (t) => {
  const edge = await startEdge(t, { routes: ROUTES, connectionsMax: 8 });
  const hanging = open(t, edge, HANGING);
  const idle: Client[] = [];
  for (let count = 0; count < 6; count += 1) {
    const client = open(t, edge, QUICK);
    await until(() => client.received.includes("200 OK"), { what: "an answer" });
    idle.push(client);
  }
  const next = open(t, edge, HANGING);
  await until(() => idle[0]?.isClosed, { what: "the end of the oldest idle connection" });
  assert.deepEqual(
    idle.map(({ isClosed }) => isClosed),
    [true, false, false, false, false, false],
  );
  assert.equal(hanging.isClosed || next.isClosed, false);
  const more = Array.from({ length: 6 }, () => open(t, edge, HANGING));
  await until(() => idle.every(({ isClosed }) => isClosed), { what: "the end of all idle ones" });
  const refused = open(t, edge, QUICK);
  await until(() => refused.isClosed, { what: "the refusal" });
  assert.equal(refused.received, "");
  assert.ok([hanging, next, ...more].every(({ isClosed }) => !isClosed));
  assert.deepEqual(edge.lines.filter(({ event }) => event === "connections refused").length, 1);
  hanging.socket.destroy();
  await until(
    async () => {
      const again = open(t, edge, QUICK);
      await until(() => again.isClosed || again.received !== "");
      return again.received !== "";
    },
    { what: "room for a new one" },
  );
});

test("a connection whose request has not come yet is not idle", async (t) => {
  const edge = await startEdge(t, { routes: ROUTES, connectionsMax: 4 });
  const slow = open(t, edge, QUICK.slice(0, 20));
  const idle = [open(t, edge, QUICK), open(t, edge, QUICK)];
  await until(() => idle.every(({ received }) => received !== ""), { what: "answers" });
  open(t, edge, QUICK);
  await until(() => idle.some(({ isClosed }) => isClosed), { what: "the end of an idle one" });
  slow.socket.write(QUICK.slice(20));
  await until(() => slow.received.includes("200 OK"), { what: "the answer of the slow one" });
});

test("connections leave files for 2,048 webhooks and the store, get at least half of the files, and are bounded without a limit", () => {
  const rows: [number | null, number][] = [
    [1_048_576, 16_384],
    [Number.POSITIVE_INFINITY, 16_384],
    [10_000, 7_696],
    [4_096, 2_048],
    [1_024, 512],
    [256, 128],
    [null, 512],
  ];
  for (const [files, connections] of rows) assert.equal(connectionsMaxOf(files), connections, `${files}`);
  assert.ok((readOpenFilesMax() ?? 0) >= 256);
});
