/** What the building blocks of the schemas accept, and what the proof of type identity refuses. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Type } from "typebox";
import type { Channel, CreateKey, Metadata as WireMetadata } from "../../../sdk/wire.ts";
import { CHANNELS, KEY_PERMISSIONS, KEY_SCOPES } from "../../../sdk/wire.ts";
import { ApiError } from "../../core/error.ts";
import {
  closed,
  decodeCursor,
  encodeCursor,
  Instant,
  isInstant,
  jsonBytesWithin,
  Metadata,
  type Same,
  text,
  wire,
} from "./common.ts";

interface Sample {
  name: string;
  to?: string;
  channels: Channel[];
  scope?: (typeof KEY_SCOPES)[number];
  nested?: { a?: number; metadata?: WireMetadata };
  nullable: string | null;
}

test("a schema is taken as its wire type when the two are identical", () => {
  const schema = wire<Sample>()(
    closed({
      name: text(1, 10),
      to: Type.Optional(Type.String()),
      channels: Type.Array(Type.Enum(CHANNELS)),
      scope: Type.Optional(Type.Enum(KEY_SCOPES)),
      nested: Type.Optional(closed({ a: Type.Optional(Type.Number()), metadata: Type.Optional(Metadata) })),
      nullable: Type.Union([Type.String(), Type.Null()]),
    }),
  );
  assert.equal(JSON.parse(JSON.stringify(schema)).additionalProperties, false);
});

test("a schema of a body as the wire has it is proven", () => {
  const schema = wire<CreateKey>()(
    closed({
      name: text(1, 100),
      customerId: Type.Optional(Type.String()),
      customerEmail: Type.Optional(Type.String()),
      scope: Type.Optional(Type.Enum(KEY_SCOPES)),
      permissions: Type.Optional(Type.Array(Type.Enum(KEY_PERMISSIONS))),
      rateLimit: Type.Optional(closed({ limit: Type.Integer(), windowSeconds: Type.Integer() })),
      expiresAt: Type.Optional(Instant),
      idempotencyKey: Type.Optional(Type.String()),
    }),
  );
  assert.deepEqual(JSON.parse(JSON.stringify(schema)).required, ["name"]);
});

test("tsc refuses a schema that lacks an optional field, or makes a required one optional", () => {
  // @ts-expect-error: `to` is missing; assignability would not see it
  wire<{ name: string; to?: string }>()(closed({ name: Type.String() }));
  // @ts-expect-error: `name` is optional
  wire<{ name: string }>()(closed({ name: Type.Optional(Type.String()) }));
  // @ts-expect-error: one field too many
  wire<{ name: string }>()(closed({ name: Type.String(), more: Type.String() }));
  // @ts-expect-error: a wider type
  wire<{ channel: Channel }>()(closed({ channel: Type.String() }));
  true satisfies Same<{ a: 1; b?: 2 }, { a: 1; b?: 2 }>;
  false satisfies Same<{ a: 1; b?: 2 }, { a: 1 }>;
});

test("a cursor gives back what it holds, and any other text is a 400 on cursor", () => {
  const isPair = (value: unknown): value is [number, string] =>
    Array.isArray(value) && value.length === 2 && typeof value[0] === "number" && typeof value[1] === "string";
  assert.deepEqual(decodeCursor(encodeCursor([7, "msg_ü"]), isPair), [7, "msg_ü"]);
  for (const bad of ["x", "!!", "eyJhIjoxfQ", "eyJhIjoxfQ==", encodeCursor([1]), encodeCursor(null), '[7,"a"]', " "]) {
    assert.throws(
      () => decodeCursor(bad, isPair),
      (error) =>
        error instanceof ApiError && error.code === "VALIDATION_ERROR" && error.details?.[0]?.path === "cursor",
      bad,
    );
  }
});

test("an instant is ISO 8601 with an offset or Z, and one that exists", () => {
  for (const good of [
    "2026-01-31T09:30:00Z",
    "2026-01-31T09:30:00.123+05:30",
    "2028-02-29T00:00Z",
    "2026-12-31t23:59:59z",
  ]) {
    assert.ok(isInstant(good), good);
  }
  const bad = [
    "2026-01-31",
    "2026-01-31T09:30:00",
    "2026-02-30T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-01-31 09:30Z",
  ];
  for (const text of [...bad, "tomorrow", "", "2026-01-31T24:00:00Z", "2026-01-31T09:30:60Z", "1767225600"]) {
    assert.ok(!isInstant(text), text);
  }
});

test("the size of metadata is that of its compact JSON in UTF-8", () => {
  const rows: [unknown, number][] = [
    [{ a: "ü" }, 10],
    [{ a: "\u0000", b: [1, null, "x"] }, 31],
    [{}, 2],
    [{ "": [] }, 7],
  ];
  for (const [value, bytes] of rows) {
    assert.deepEqual([jsonBytesWithin(value, bytes), jsonBytesWithin(value, bytes - 1)], [true, false]);
  }
});

test("metadata that is far too large is not written out to find that out", () => {
  const huge = {
    text: "x".repeat(100_000),
    toJSON(): never {
      throw new Error("it was written out");
    },
  };
  assert.equal(jsonBytesWithin(huge, 16_384), false);
});
