/** The edge in front of stub routes, for tests of the edge. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { type AddressInfo, BlockList } from "node:net";
import type { TestContext } from "node:test";
import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import { closed, text } from "../../contract/schema.ts";
import { Address, HttpsUrl, IdempotencyKey, metadataInput, page } from "../../contract/values.ts";
import { CHANNELS, ERROR_STATUS, type Failure } from "../../sdk/wire.ts";
import type { CompletedRequest } from "../../server/api/pipeline/edge.ts";
import { ATTACHMENT_BODY_BYTES_MAX, type Route, route } from "../../server/api/route.ts";
import { buildServer, type ServerOptions } from "../../server/api/server.ts";
import { systemClock } from "../../server/clock.ts";
import { ApiError } from "../../server/core/error.ts";
import { createIdSource } from "../../server/core/id.ts";
import { type ApiKey, hashKey } from "../../server/core/key.ts";
import type { LogFields } from "../../server/log.ts";
import type { RawAnswer } from "./socket.ts";

/** The key of a customer, of another customer and of an admin, and two keys that no longer work. */
export const KEYS = {
  customer: `tb_${"c".repeat(36)}`,
  other: `tb_${"o".repeat(36)}`,
  admin: `tb_${"a".repeat(36)}`,
  revoked: `tb_${"r".repeat(36)}`,
  expired: `tb_${"e".repeat(36)}`,
} as const;

const BASE: ApiKey = {
  id: "key_customer",
  version: 1,
  name: "test",
  customerId: "cust_1",
  scope: "messages",
  permissions: ["read", "send", "webhooks"],
  hash: "",
  last4: "cccc",
  rateLimit: null,
  createdAt: 0,
  lastUsedAt: null,
  expiresAt: null,
  revokedAt: null,
  replacedBy: null,
};

const BY_HASH = new Map<string, ApiKey>([
  [hashKey(KEYS.customer), BASE],
  [hashKey(KEYS.other), { ...BASE, id: "key_other", customerId: "cust_2" }],
  [hashKey(KEYS.admin), { ...BASE, id: "key_admin", customerId: null, scope: "admin", permissions: [] }],
  [hashKey(KEYS.revoked), { ...BASE, id: "key_revoked", revokedAt: 1 }],
  [hashKey(KEYS.expired), { ...BASE, id: "key_expired", expiresAt: 1 }],
]);

/** A body with a field of each kind. */
export const Sample = closed({
  to: Address,
  content: closed({ text: text(1, 10), mediaUrls: Type.Optional(Type.Array(HttpsUrl, { maxItems: 3 })) }),
  channels: Type.Optional(Type.Array(Type.Enum(CHANNELS), { minItems: 1, maxItems: 10 })),
  amount: Type.Optional(Type.Union([Type.Number({ minimum: 1 }), Type.String({ maxLength: 5 })])),
  name: Type.Optional(Type.Union([text(1, 5), Type.Null()])),
  limit: Type.Optional(Type.Integer({ minimum: 10, maximum: 20 })),
  idempotencyKey: Type.Optional(IdempotencyKey),
  metadata: Type.Optional(metadataInput),
});

/** Stub routes: `POST /v1/messages` echoes its call; the others exist to be found, refused or failed. */
export const STUBS: readonly Route[] = [
  route({
    method: "POST",
    path: "/v1/messages",
    scope: "messages",
    body: Sample,
    handle: ({ body, idempotencyKey, correlationId, caller }) => {
      return { status: 202, data: { body, idempotencyKey, correlationId, customerId: caller.customerId } };
    },
  }),
  route({
    method: "GET",
    path: "/v1/messages",
    scope: "messages",
    query: closed({ ...page, to: Type.Optional(Address), active: Type.Optional(Type.Boolean()) }),
    handle: async ({ query }) => ({ data: query }),
  }),
  route({
    method: "GET",
    path: "/v1/chats/:id/messages",
    scope: "messages",
    query: closed({ ...page, status: Type.Optional(Type.String()) }),
    handle: ({ query }) => {
      const messages = Array.from({ length: query.limit }, (_, place) => ({ text: `message ${place}` }));
      return { data: { messages, at: query.cursor ?? null, pagination: { hasMore: true, nextCursor: "bmV4dA" } } };
    },
  }),
  route({
    method: "GET",
    path: "/v1/events",
    scope: "messages",
    query: closed(page),
    handle: ({ query: { cursor = null } }) => ({
      rawList: { name: "events", items: ['{"id":"evt_1"}', JSON.stringify({ cursor })] },
      pagination: { hasMore: true, nextCursor: "bmV4dA" },
    }),
  }),
  route({ method: "GET", path: "/v1/messages/scheduled", scope: "messages", handle: () => ({ data: "scheduled" }) }),
  route({ method: "GET", path: "/v1/messages/:id", scope: "messages", handle: ({ params }) => ({ data: params.id }) }),
  route({
    method: "DELETE",
    path: "/v1/messages/:id",
    scope: "messages",
    handle: async ({ params, body }) => ({ data: { id: params.id, deleted: true, body: body ?? null } }),
  }),
  route({
    method: "POST",
    path: "/v1/messages/carousel",
    scope: "messages",
    bodyBytesMax: ATTACHMENT_BODY_BYTES_MAX,
    body: closed({ text: Type.Optional(Type.String()) }),
    handle: ({ body }) => ({ data: body.text?.length ?? null }),
  }),
  route({ method: "POST", path: "/v1/messages/:id/retry", scope: "messages", handle: () => ({ data: "retried" }) }),
  route({ method: "GET", path: "/v1/raw", scope: "messages", handle: () => ({ rawData: '[{"id":"evt_1"}]' }) }),
  route({ method: "GET", path: "/v1/nothing", scope: "any", handle: () => ({ data: undefined }) }),
  route({
    method: "GET",
    path: "/v1/stream",
    scope: "messages",
    handle: () => ({
      headers: { "Content-Type": "text/event-stream" },
      stream: (response) => void response.end(": hi\n\n"),
    }),
  }),
  route({ method: "GET", path: "/v1/admin/keys", scope: "admin", handle: () => ({ data: { keys: [] } }) }),
  route({ method: "POST", path: "/v1/admin/keys", scope: "admin", body: closed({}), handle: () => ({ data: 1 }) }),
  route({
    method: "GET",
    path: "/v1/broken",
    scope: "messages",
    handle: () => {
      throw new TypeError("SELECT secret FROM /var/lib");
    },
  }),
  route({
    method: "GET",
    path: "/v1/refused",
    scope: "messages",
    handle: async () => {
      throw new ApiError("REPLY_NOT_FOUND", "There is no message msg_1.");
    },
  }),
];

export interface TestEdge {
  app: FastifyInstance;
  port: number;
  lines: { event: string; fields: LogFields }[];
  counted: CompletedRequest[];
}

/** Starts an edge on a free port until the test ends. It has no rate limit unless `options` sets it. */
export async function startEdge(t: TestContext, options: Partial<ServerOptions> = {}): Promise<TestEdge> {
  const lines: TestEdge["lines"] = [];
  const counted: CompletedRequest[] = [];
  const line = (event: string, fields: LogFields = {}) => void lines.push({ event, fields });
  const clock = systemClock();
  const app = buildServer({
    authenticate: (secret) => BY_HASH.get(hashKey(secret)) ?? null,
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
    completed: (answered) => void counted.push(answered),
    log: { debug: line, info: line, warn: line, error: line },
    clock,
    newId: createIdSource(() => clock.real(), randomBytes),
    random: randomBytes,
    routes: STUBS,
    ...options,
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  t.after(async () => {
    app.server.closeAllConnections();
    await app.close();
  });
  return { app, port: (app.server.address() as AddressInfo).port, lines, counted };
}

/** Parses a failure and checks its envelope, and that its code belongs to this status. */
export function failureOf(status: number, body: string): Failure {
  const failure: Failure = JSON.parse(body);
  assert.deepEqual(Object.keys(failure), ["success", "error", "requestId"], body);
  assert.equal(failure.success, false);
  assert.equal(ERROR_STATUS[failure.error.code], status, body);
  assert.ok(failure.error.message.length > 0 && failure.requestId.length > 0, body);
  for (const detail of failure.error.details ?? []) assert.deepEqual(Object.keys(detail), ["path", "message"]);
  return failure;
}

/** Header lines of requests. */
export const AUTH = `Authorization: Bearer ${KEYS.customer}`;
export const OTHER = `Authorization: Bearer ${KEYS.other}`;
export const ADMIN = `Authorization: Bearer ${KEYS.admin}`;
export const JSON_TYPE = "Content-Type: application/json";
/** A valid body of `POST /v1/messages`. */
export const GOOD = '{"to":"+15005550100","content":{"text":"hi"}}';

/** A request as text: its first line without the version, headers beside Host and Content-Length, body. */
export function http(line: string, headers: string[] = [], body = ""): string {
  const length = body === "" ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  return [`${line} HTTP/1.1`, "Host: x", ...headers, ...length, "", body].join("\r\n");
}

/** The expected response to a request; a success unless it has a `code`. */
export interface Scenario {
  name: string;
  request: string;
  status: number;
  code?: string;
  data?: unknown;
  paths?: string[];
  headers?: Record<string, string>;
}

/** Checks a response against its scenario, including envelope and ids. */
export function check(answer: RawAnswer, { name, status, code, data, paths, headers = {} }: Scenario): void {
  assert.equal(answer.status, status, `${name}: ${answer.body}`);
  assert.equal(answer.headers["content-type"], "application/json; charset=utf-8", name);
  const envelope = JSON.parse(answer.body);
  assert.equal(envelope.requestId, answer.headers["x-request-id"], name);
  assert.match(answer.headers["x-correlation-id"] ?? "", /^cor_[0-9a-f]{32}$/, name);
  for (const [key, value] of Object.entries(headers)) assert.equal(answer.headers[key], value, `${name}: ${key}`);
  if (code === undefined) {
    assert.equal(envelope.success, true, name);
    assert.deepEqual(Object.keys(envelope), ["success", "data", "requestId"], name);
    if (data !== undefined) assert.deepEqual(envelope.data, data, name);
  } else {
    const failure = failureOf(status, answer.body);
    assert.equal(failure.error.code, code, name);
    const found = failure.error.details?.map(({ path }) => path);
    if (paths !== undefined) assert.deepEqual(found?.sort(), paths.sort(), `${name}: ${answer.body}`);
  }
}
