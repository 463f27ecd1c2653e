/** Pages beside the pipeline: their errors have the API's envelope, and their requests are checked, logged and counted. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { BlockList } from "node:net";
import { test } from "node:test";
import { until } from "../../test/support/wait.ts";
import { buildServer } from "../api/server.ts";
import { systemClock } from "../clock.ts";
import { createIdSource } from "../core/id.ts";
import type { LogFields } from "../log.ts";
import { addPages, missingPage } from "./pages.ts";

/** An edge whose lines are in `seen`, with their level. */
function edgeOf(seen: string[]) {
  const clock = systemClock();
  const line = (event: string) => void seen.push(event);
  const at =
    (level: string) =>
    (event: string, fields: LogFields = {}) =>
      line(fields.route === undefined ? event : `${level} ${event} ${fields.route}`);
  return {
    authenticate: () => null,
    sessions: null,
    keyUsed: () => {},
    rateLimit: null,
    countShared: null,
    hop: null,
    overloadSeconds: () => null,
    isClosing: () => false,
    hasDatabase: () => true,
    trustedProxies: new BlockList(),
    unnamed: () => {},
    requestLog: null,
    completed: ({ route, status }: { route: string | null; status: number }) => line(`${route} ${status}`),
    log: { debug: at("debug"), info: at("info"), warn: line, error: line },
    clock,
    newId: createIdSource(() => clock.real(), randomBytes),
    random: randomBytes,
    routes: [],
  };
}

test("an error of a page has the envelope of the API, and reveals nothing of the inside", async () => {
  const seen: string[] = [];
  const edge = edgeOf(seen);
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
  assert.deepEqual(seen, [
    "request failed",
    "/broken 500",
    "info request /broken",
    "/broken 414",
    "info request /broken",
  ]);
  await app.close();
});

test("the files that a page loads are logged at debug, unless they are refused; pages are logged at info", async () => {
  const seen: string[] = [];
  const edge = edgeOf(seen);
  const app = buildServer(edge);
  addPages(app, edge, (pages) => {
    pages.get<{ Params: { file: string } }>("/assets/:file", ({ params }, reply) =>
      reply.code(Number(params.file)).send(""),
    );
    pages.get("/docs", () => "");
  });
  for (const path of ["/assets/200", "/assets/304", "/assets/404", "/docs"]) await app.inject({ url: path });
  assert.deepEqual(
    seen.filter((line) => line.includes("request")),
    ["debug request /assets/:file", "debug request /assets/:file", "info request /assets/:file", "info request /docs"],
  );
  await app.close();
});

test("an address that leads nowhere shows a person the page, and a program the envelope", async () => {
  const seen: string[] = [];
  const edge = edgeOf(seen);
  const sendMissingPage = missingPage(edge, (reply) => {
    reply.code(404).type("text/html").send("<p>no such page</p>");
    return true;
  });
  const app = buildServer({ ...edge, sendMissingPage });
  const accept = "text/html,application/xhtml+xml,*/*;q=0.8";
  const shows = async (url: string, options: { method?: "GET" | "HEAD" | "POST"; accept?: string } = {}) => {
    const { method = "GET", accept: accepted = accept } = options;
    const response = await app.inject({ method, url, headers: { accept: accepted, "x-request-id": "mine" } });
    assert.equal(response.headers["x-request-id"], "mine");
    return [response.statusCode, response.headers["content-type"]?.split(";")[0]];
  };
  assert.deepEqual(await shows("/mesages"), [404, "text/html"]);
  assert.deepEqual(await shows("/mesages", { method: "HEAD" }), [404, "text/html"]);
  await until(() => seen.length === 4, { what: "two lines in the log" });
  assert.deepEqual(seen, ["null 404", "request", "null 404", "request"]);
  assert.deepEqual(await shows("/mesages", { accept: "*/*" }), [404, "application/json"]);
  assert.deepEqual(await shows("/mesages", { method: "POST" }), [404, "application/json"]);
  assert.deepEqual(await shows("/session/elsewhere?a=b"), [404, "application/json"]);
  for (const url of ["/v1/mesages", "/v1?a=b", "/%76%31/messages"])
    assert.deepEqual(await shows(url), [401, "application/json"], url);
});
