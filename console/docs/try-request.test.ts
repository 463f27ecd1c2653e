/** Requests from the forms of the reference: the path, the query and the body, and what is wrong with them. */

import assert from "node:assert/strict";
import test from "node:test";
import { errorOf, requestOf, whoSends } from "./try-request.ts";

const value = (place: string, name: string, text: string) => ({ place, name, value: text });

test("a form becomes a path, a query without empty fields, and a body", () => {
  const filled = [
    value("path", "id", " +15005550101 "),
    value("query", "limit", "5"),
    value("query", "cursor", ""),
    value("body", "", '{"text":"Hello"}'),
  ];
  assert.deepEqual(requestOf("/v1/chats/{id}/messages", filled), {
    path: "/v1/chats/+15005550101/messages?limit=5",
    body: '{"text":"Hello"}',
  });
  assert.deepEqual(requestOf("/v1/x/{id}", [value("path", "id", "a/b?c")]), { path: "/v1/x/a%2Fb%3Fc", body: null });
});

test("a form that cannot be sent says what is missing", () => {
  assert.deepEqual(requestOf("/v1/x/{id}", [value("path", "id", "")]), {
    problem: "Fill in id: it is a part of the path.",
  });
  const wrong = requestOf("/v1/x", [value("body", "", "{text}")]);
  assert.match("problem" in wrong ? wrong.problem : "", /^The body is not valid JSON: /);
});

test("the form says who sends, and when the key is of the wrong kind", () => {
  const customer = { scope: "customer", keyName: "Shop" } as const;
  assert.equal(whoSends(null, ""), "This operation needs no key.");
  assert.equal(whoSends(null, "messages"), "Nobody is signed in here.");
  assert.match(whoSends(customer, "admin"), /“Shop”\. This operation needs an admin key\.$/);
  assert.match(whoSends({ scope: "admin", keyName: "Root" }, "messages"), /chosen in the console\.$/);
  assert.equal(whoSends(customer, "any"), "You are signed in with the key “Shop”.");
});

test("an error response is its sentence and its code", () => {
  assert.deepEqual(errorOf({ success: false, error: { code: "NOT_FOUND", message: "There is none." } }), {
    code: "NOT_FOUND",
    message: "There is none.",
  });
  assert.equal(errorOf({ success: true }), null);
  assert.equal(errorOf("text"), null);
});
