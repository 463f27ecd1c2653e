/** A search of the log means a query of the log. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSearch } from "../../parts/search-terms.ts";
import { LOG_FIELDS, logQueryOf } from "./search.ts";

const NOW = Date.UTC(2026, 0, 1, 12);
const names = LOG_FIELDS.map(({ name }) => name);

for (const [line, query] of [
  ["", {}],
  ["status:4xx method:post", { status: "4xx", method: "POST" }],
  ["/v1/messages", { path: "/v1/messages" }],
  ["code:RATE_LIMITED since:1h", { code: "RATE_LIMITED", since: "2026-01-01T11:00:00.000Z" }],
  ["message:msg_1 correlation:abc", { messageId: "msg_1", correlationId: "abc" }],
] as const)
  test(`“${line}” is ${JSON.stringify(query)}`, () => {
    assert.deepEqual(logQueryOf(parseSearch(line, names), NOW), query);
  });
