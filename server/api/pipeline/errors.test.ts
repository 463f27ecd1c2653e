/** Rendered errors: every code with its status, and nothing of the inside. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ERROR_STATUS, type ErrorCode } from "../../../sdk/wire.ts";
import { failureOf } from "../../../test/support/edge.ts";
import { ApiError } from "../../core/error.ts";
import { StoreUnavailable } from "../../store/store.ts";
import { DETAILS_MAX, renderError } from "./errors.ts";

test("every code is rendered in the envelope with its status", () => {
  for (const code of Object.keys(ERROR_STATUS) as ErrorCode[]) {
    const { status, body, isBug } = renderError(new ApiError(code, "Because."), "req_1");
    assert.deepEqual(JSON.parse(body), { success: false, error: { code, message: "Because." }, requestId: "req_1" });
    failureOf(status, body);
    assert.equal(isBug, false);
  }
});

test("any other thrown value is a 500 that reveals nothing of it", () => {
  for (const thrown of [new Error("SELECT 1"), "text", null, undefined, { code: "NOT_FOUND", message: "x" }]) {
    const { status, body, isBug } = renderError(thrown, "req_1");
    assert.equal(failureOf(status, body).error.code, "INTERNAL_ERROR");
    assert.ok(isBug && status === 500 && !body.includes("SELECT"));
  }
});

test("a response has at most 100 details, and cuts overlong paths", () => {
  const details = Array.from({ length: 5_000 }, (_, index) => ({
    path: `${index}${"x".repeat(10_000)}\ud800`,
    message: "m",
  }));
  const { body } = renderError(new ApiError("VALIDATION_ERROR", "m", { details }), "req_1");
  assert.equal(JSON.parse(body).error.details.length, DETAILS_MAX);
  assert.ok(body.length < 30_000 && !body.includes("\\ud800"));
});

test("429 and 503 always have Retry-After in whole seconds", () => {
  const of = (code: ErrorCode, retryAfterSeconds?: number) =>
    renderError(new ApiError(code, "m", retryAfterSeconds === undefined ? {} : { retryAfterSeconds }), "r").headers[
      "retry-after"
    ];
  assert.deepEqual(
    [of("RATE_LIMITED", 7), of("SERVICE_UNAVAILABLE"), of("SERVICE_UNAVAILABLE", 0.2), of("NOT_FOUND")],
    ["7", "1", "1", undefined],
  );
});

test("a database that went away during a request is a 503 that says how to repeat the request", () => {
  const { status, headers, body, isBug } = renderError(new StoreUnavailable("connect ECONNREFUSED 10.0.0.1"), "req_1");
  assert.deepEqual([status, headers["retry-after"], isBug], [503, "1", false]);
  assert.match(failureOf(status, body).error.message, /with the same Idempotency-Key/);
  assert.ok(!body.includes("10.0.0.1"));
});
