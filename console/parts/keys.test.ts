import assert from "node:assert/strict";
import { test } from "node:test";
import { findBinding, type KeyBinding } from "./keys.ts";

const binding = (key: string, label: string, whileTyping?: KeyBinding["whileTyping"]): KeyBinding => ({
  ...{ key, label, run: () => {} },
  ...(whileTyping === undefined ? {} : { whileTyping }),
});
const BINDINGS = [
  binding("Mod+k", "palette", true),
  binding("~", "wire", "empty"),
  binding("?", "help"),
  binding("j", "first"),
  binding("j", "last"),
];

for (const [name, field, isModal, label] of [
  ["~", null, false, "wire"],
  ["~", "empty", false, "wire"],
  ["~", "text", false, undefined],
  ["~", "empty", true, undefined],
  ["?", null, false, "help"],
  ["?", "empty", false, undefined],
  ["?", null, true, undefined],
  ["Mod+k", "text", true, "palette"],
  ["j", null, false, "last"],
  ["x", null, false, undefined],
] as const)
  test(`${name} at ${field ?? "no"} field${isModal ? " of a dialog" : ""}: ${label ?? "is typed or ignored"}`, () => {
    assert.equal(findBinding(BINDINGS, { name, field, isModal })?.label, label);
  });
