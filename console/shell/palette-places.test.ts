import assert from "node:assert/strict";
import { test } from "node:test";
import { SECTIONS } from "../pages/settings/sections.ts";
import { isFound, placesFor } from "./palette-places.ts";

const found = (typed: string, scope: "admin" | "customer") =>
  placesFor({ scope })
    .filter(({ title, words }) => isFound(typed, title, words))
    .map(({ path }) => path);

for (const [typed, path] of [
  ["keys", "/settings/keys"],
  ["contacts", "/settings/contacts"],
  ["clock", "/settings/service"],
  ["deliveries", "/webhooks/deliveries"],
  ["rotate", "/settings/keys"],
  ["rotate secret", "/webhooks"],
  ["retry", "/webhooks/deliveries"],
  ["replay", "/webhooks"],
  ["Signature", "/webhooks/check"],
] as const)
  test(`“${typed}” leads to ${path}`, () => {
    assert.ok(found(typed, "admin").includes(path));
  });

test("a place is found by words anywhere in its title or its other words, and the theme by “dark”", () => {
  assert.ok(isFound("clock move", "Move or reset the clock"));
  assert.ok(isFound("dark", "Change the theme", "dark light"));
  assert.ok(!isFound("dark clock", "Change the theme", "dark light"));
});

test("every section is a place, and those of admins are none for a customer's key", () => {
  const paths = new Set(placesFor({ scope: "admin" }).map((place) => place.path));
  for (const { id } of SECTIONS) assert.ok(paths.has(`/settings/${id}`), id);
  assert.deepEqual(found("keys", "customer"), []);
});
