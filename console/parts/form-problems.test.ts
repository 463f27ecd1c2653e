import assert from "node:assert/strict";
import test from "node:test";
import { TightbeamError } from "../../sdk/errors.ts";
import type { ErrorDetail } from "../../sdk/wire.ts";
import { problemsOf } from "./form-problems.ts";

const FIELDS = ["url", "events", "content.text"];

function sorted(...details: ErrorDetail[]) {
  const error = new TightbeamError("VALIDATION_ERROR", "refused", { status: 400, details });
  const { atFields, isElsewhere } = problemsOf(error, FIELDS);
  return { atFields: Object.fromEntries(atFields), isElsewhere };
}

test("each detail of a refusal is at the field of its path", () => {
  const url = { path: "url", message: "must begin with https://" };
  const text = { path: "content.text", message: "must have 1 to 10,000 characters" };
  assert.deepEqual(sorted(url, text), {
    atFields: { url: "Must begin with https://.", "content.text": "Must have 1 to 10,000 characters." },
    isElsewhere: false,
  });
});

test("a detail about a part of a value, or about the object around it, is at the field and names its path", () => {
  assert.deepEqual(
    sorted({ path: "events[2]", message: "must be a type" }, { path: "content", message: "is required" }),
    {
      atFields: { events: "events[2]: must be a type.", "content.text": "content: is required." },
      isElsewhere: false,
    },
  );
});

test("a field with several problems shows all of them", () => {
  const { atFields } = sorted({ path: "url", message: "is too long" }, { path: "url", message: "has no host" });
  assert.deepEqual(atFields, { url: "Is too long. Has no host." });
});

test("a detail about no field of the form, and a refusal without details, are told elsewhere", () => {
  const url = { path: "url", message: "is required" };
  assert.deepEqual(sorted(url, { path: "urls", message: "is unknown" }), {
    atFields: { url: "Is required." },
    isElsewhere: true,
  });
  assert.deepEqual(sorted(), { atFields: {}, isElsewhere: true });
  const lost = new Error("no network");
  assert.deepEqual(problemsOf(lost, FIELDS), { atFields: new Map(), isElsewhere: true });
});
