/** Pages beside the pipeline: their errors have the API's envelope, and their requests are checked, logged and counted. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { buildServer } from "../api/server.ts";
import { systemClock } from "../clock.ts";
import { createIdSource } from "../core/id.ts";
import { addPages } from "./pages.ts";

test("an error of a page has the envelope of the API, and reveals nothing of the inside", async () => {
  const clock = systemClock();
  const seen: string[] = [];
  const line = (event: string) => void seen.push(event);
  const edge = {
    authenticate: () => null,
    sessions: null,
    keyUsed: () => {},
    rateLimit: null,
    countShared: null,
    hop: null,
    overloadSeconds: () => null,
    isClosing: () => false,
    hasDatabase: () => true,
    requestLog: null,
    completed: ({ route, status }: { route: string | null; status: number }) => line(`${route} ${status}`),
    log: { debug: line, info: line, warn: line, error: line },
    clock,
    newId: createIdSource(() => clock.real(), randomBytes),
    random: randomBytes,
    routes: [],
  };
  const app = buildServer(edge);
  addPages(app, edge, (pages) => {
    pages.get("/broken", () => {
      throw new Error("inside");
    });
  });
  const { statusCode, body, headers } = await app.inject({ url: "/broken", headers: { "x-request-id": "mine" } });
  const { success, error, requestId } = JSON.parse(body);
  assert.deepEqual([statusCode, success, error.code, requestId], [500, false, "INTERNAL_ERROR", "mine"]);
  assert.equal(headers["x-request-id"], "mine");
  assert.ok(!body.includes("inside"));
  const tooLong = await app.inject({ url: `/broken?${"x".repeat(9_000)}` });
  assert.equal(JSON.parse(tooLong.body).error.code, "URI_TOO_LONG");
  assert.deepEqual(seen, ["request failed", "/broken 500", "request", "/broken 414", "request"]);
  await app.close();
});
