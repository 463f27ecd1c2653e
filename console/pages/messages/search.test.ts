import assert from "node:assert/strict";
import test from "node:test";
import { parseSearch } from "../../parts/search-terms.ts";
import { MESSAGE_FIELDS, queryOf, SAVED_SEARCHES } from "./search.ts";

const NOW = Date.parse("2026-03-01T12:00:00Z");
const NAMES = MESSAGE_FIELDS.map(({ name }) => name);

test("a search means a query of the API, and a value that no field has is left out", () => {
  const search = parseSearch("status:failed to:+15005550100 since:1h channel:pigeon parcel", NAMES);
  assert.deepEqual(queryOf(search, NOW), {
    status: "failed",
    to: "+15005550100",
    createdAfter: "2026-03-01T11:00:00.000Z",
    q: "parcel",
  });
});

test("every saved search but the first one filters", () => {
  const queries = SAVED_SEARCHES.map(({ q }) => Object.keys(queryOf(parseSearch(q, NAMES), NOW)).length);
  assert.deepEqual(queries, [0, 1, 1, 1]);
});
