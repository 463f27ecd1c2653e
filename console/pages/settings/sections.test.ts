/** The sections of the settings: one address each, and no admin's section for a customer's key. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { findSection, groupSections, isAllowed, SECTIONS } from "./sections.ts";

test("each section has an address of its own, and an address without a section is the first one", () => {
  assert.equal(new Set(SECTIONS.map(({ id }) => id)).size, SECTIONS.length);
  assert.equal(findSection(undefined), SECTIONS[0]);
  assert.equal(findSection("keys")?.title, "Keys");
  assert.equal(findSection("nothing"), null);
});

test("a customer's session may read no section of admin routes, an admin's session may read all", () => {
  const customers = SECTIONS.filter((section) => isAllowed(section, { scope: "customer" }));
  assert.ok(customers.every(({ isAdmin }) => isAdmin === undefined));
  assert.ok(SECTIONS.every((section) => isAllowed(section, { scope: "admin" })));
});

test("groups keep the order of the sections", () => {
  assert.deepEqual(
    groupSections(SECTIONS).flatMap(([, sections]) => sections),
    SECTIONS,
  );
});
