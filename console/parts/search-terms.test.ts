import assert from "node:assert/strict";
import test from "node:test";
import { formatSearch, instantOf, isIgnored, parseSearch, valueIn, withTerm } from "./search-terms.ts";

const FIELDS = ["status", "to", "since"];

test("a search line is read into chips and words, and written as it was", () => {
  const line = "status:failed to:+15005550100 since:1h lost parcel";
  const search = parseSearch(line, FIELDS);
  assert.deepEqual(search.terms, [
    { field: "status", value: "failed" },
    { field: "to", value: "+15005550100" },
    { field: "since", value: "1h" },
  ]);
  assert.equal(search.words, "lost parcel");
  assert.equal(formatSearch(search), line);
});

test("a part that names no known field is a word, and so are addresses of pages and times of day", () => {
  assert.equal(parseSearch("http://x.test at 10:30", FIELDS).words, "http://x.test at 10:30");
});

test("a quoted value may have spaces", () => {
  const search = parseSearch('to:"a b"', FIELDS);
  assert.equal(valueIn(search, "to"), "a b");
  assert.equal(formatSearch(search), 'to:"a b"');
});

test("a new value of a field replaces the one before", () => {
  const search = withTerm(parseSearch("status:failed", FIELDS), { field: "status", value: "sent" });
  assert.equal(formatSearch(search), "status:sent");
});

test("a field that is written twice has its last value", () => {
  assert.equal(formatSearch(parseSearch("status:failed status:sent status:sent lost", FIELDS)), "status:sent lost");
});

test("a value that a field with few values does not have is known to say nothing", () => {
  const fields = [{ name: "status", values: ["sent", "failed"] }, { name: "since" }];
  assert.equal(isIgnored({ field: "status", value: "lost" }, fields), true);
  assert.equal(isIgnored({ field: "status", value: "sent" }, fields), false);
  assert.equal(isIgnored({ field: "since", value: "lost" }, fields), false);
});

test("1h is an hour before now, a date is itself, and anything else is no time", () => {
  const now = Date.parse("2026-03-01T12:00:00Z");
  assert.equal(instantOf("1h", now), "2026-03-01T11:00:00.000Z");
  assert.equal(instantOf("2026-02-01", now), "2026-02-01T00:00:00.000Z");
  assert.equal(instantOf("soon", now), undefined);
  assert.equal(instantOf("5", now), undefined);
  assert.equal(instantOf(undefined, now), undefined);
});
