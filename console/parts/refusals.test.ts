import assert from "node:assert/strict";
import test from "node:test";
import { TightbeamError } from "../../sdk/errors.ts";
import { isGone } from "./refusals.ts";

const refusal = (status: number) => new TightbeamError("CODE", "message", { status });

test("a record stays on the page while the service is away or busy, and leaves it once the service refuses it", () => {
  assert.deepEqual([0, 408, 429, 500, 503].map(refusal).filter(isGone), []);
  assert.ok([400, 403, 404].map(refusal).every(isGone));
  assert.ok(!isGone(new Error("no network")));
  assert.ok(!isGone(null));
});
