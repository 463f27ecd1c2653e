/** Refusals as a table: each request, and its expected error response. A refusal changes nothing. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ERROR_STATUS, type ErrorCode } from "../../sdk/wire.ts";
import type { SandboxStage } from "./sandbox.ts";
import type { Answered } from "./service.ts";
import { ask as askRaw } from "./socket.ts";

/** A request that is refused. */
export interface Scenario {
  /** Method and path. */
  ask: string;
  /** A string is sent unchanged. */
  body?: unknown;
  /** The beginning of a JSON body whose end never comes, in place of `body`. */
  unfinished?: string;
  headers?: Record<string, string>;
  key?: string;
  code: ErrorCode;
  /** The fields that the error names, in any order; none by default. */
  paths?: readonly string[];
  /** The text that the message must contain: what is wrong, or what to do. */
  says: RegExp;
}

/** Scenarios by the title of their test. They are created when the test runs, so that the records they name exist. */
export type Table = Readonly<Record<string, () => readonly Scenario[]>>;

/** Tests every scenario of the table: status, code, fields and message, and after each title that nothing changed. */
export function testRefusals(name: string, stageOf: () => SandboxStage, table: Table): void {
  describe(name, () => {
    for (const [title, scenarios] of Object.entries(table)) {
      test(title, async () => {
        const stage = stageOf();
        const before = await viewOf(stage);
        for (const scenario of scenarios()) await checkRefused(stage, scenario);
        assert.deepEqual(await viewOf(stage), before, "and nothing was changed");
      });
    }
  });
}

/** The refusal of a browser's request whose JSON body begins and does not end in time. */
export function late(ask: string, origin: string, unfinished: string, says: RegExp): Scenario[] {
  return [{ ask, headers: { Origin: origin }, unfinished, code: "REQUEST_TIMEOUT", says }];
}

/** Sends the request, and checks that it is refused as expected. */
export async function checkRefused(stage: SandboxStage, scenario: Scenario): Promise<Answered> {
  const { ask, body, unfinished, headers = {}, key = stage.api.key, code, paths = [], says } = scenario;
  const [method = "", path = ""] = ask.split(" ");
  const answer =
    unfinished === undefined
      ? await stage.api.ask(method, path, { key, headers, ...(body === undefined ? {} : { body }) })
      : await askUnfinished(stage, ask, headers, unfinished);
  const { status, error } = answer;
  const description = `${ask} ${JSON.stringify(body)?.slice(0, 300)}: ${status} ${JSON.stringify(error ?? answer.data)}`;
  assert.deepEqual([status, error?.code], [ERROR_STATUS[code], code], description);
  assert.match(error?.message ?? "", says, description);
  const named = error?.details?.map((detail) => detail.path) ?? [];
  assert.deepEqual(named.sort(), [...paths].sort(), description);
  for (const { message } of error?.details ?? [])
    assert.doesNotMatch(message, /\.$/, `a detail ends with a full stop: ${message}`);
  return answer;
}

/** Sends a request whose body announces one byte more than it has. */
async function askUnfinished(
  { api }: SandboxStage,
  line: string,
  headers: Record<string, string>,
  body: string,
): Promise<Answered> {
  const { port } = api.service;
  const all = { Host: `127.0.0.1:${port}`, "Content-Type": "application/json", ...headers };
  const lines = Object.entries({ ...all, "Content-Length": Buffer.byteLength(body) + 1 });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const answer = await askRaw(port, `${line} HTTP/1.1\r\n${head}\r\n${body}`, { limitMs: 60_000 });
  return { ...JSON.parse(answer.body), status: answer.status, headers: new Headers(answer.headers), body: answer.body };
}

/** Everything that a customer can read and that a refusal must leave alone. */
async function viewOf({ api }: SandboxStage): Promise<unknown> {
  const lists = ["messages", "chats", "contacts", "payments/requests", "facetime/calls", "events", "opt-outs"];
  const paths = [...lists.map((list) => `${list}?limit=100`), "webhooks/list", "numbers"];
  return await Promise.all(paths.map(async (path) => (await api.ask("GET", `/v1/${path}`)).data));
}
