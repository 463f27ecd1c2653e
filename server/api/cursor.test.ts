/** A cursor returns its value, and any other text is refused. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "../core/error.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";

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
