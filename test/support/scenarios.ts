/** Refusals as a table: what is asked, and the clear answer to it. A refusal changes nothing. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ERROR_STATUS, type ErrorCode } from "../../sdk/wire.ts";
import type { SandboxStage } from "./sandbox.ts";
import type { Answered } from "./service.ts";

/** One request that is refused. */
export interface Scenario {
  /** Method and path. */
  ask: string;
  /** A string is sent as it stands. */
  body?: unknown;
  headers?: Record<string, string>;
  key?: string;
  code: ErrorCode;
  /** Fields that are named, in any order; none unless given. */
  paths?: readonly string[];
  /** The text that the message must contain: what is wrong, or what to do. */
  says: RegExp;
}

/** Scenarios by the title of their test. They are made when it runs: the records that they name are there then. */
export type Table = Readonly<Record<string, () => readonly Scenario[]>>;

/** Tests every scenario of the table: status, code, fields and message, and after each title that nothing was changed. */
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

/** Asks, and checks that the answer is the refusal. */
export async function checkRefused(stage: SandboxStage, scenario: Scenario): Promise<Answered> {
  const { ask, body, headers = {}, key = stage.api.key, code, paths = [], says } = scenario;
  const [method = "", path = ""] = ask.split(" ");
  const answer = await stage.api.ask(method, path, { key, headers, ...(body === undefined ? {} : { body }) });
  const { status, error } = answer;
  const description = `${ask} ${JSON.stringify(body)?.slice(0, 300)}: ${status} ${JSON.stringify(error ?? answer.data)}`;
  assert.deepEqual([status, error?.code], [ERROR_STATUS[code], code], description);
  assert.match(error?.message ?? "", says, description);
  const named = error?.details?.map((detail) => detail.path) ?? [];
  assert.deepEqual(named.sort(), [...paths].sort(), description);
  return answer;
}

/** Everything that a customer can read and that a refusal must leave alone. */
async function viewOf({ api }: SandboxStage): Promise<unknown> {
  const lists = ["messages", "chats", "contacts", "payments/requests", "facetime/calls", "events", "opt-outs"];
  const paths = [...lists.map((list) => `${list}?limit=100`), "webhooks/list", "numbers"];
  return await Promise.all(paths.map(async (path) => (await api.ask("GET", `/v1/${path}`)).data));
}
