import assert from "node:assert/strict";
import { test } from "node:test";
import { runOnTerminal } from "../test/support/cli.ts";
import { wrapHelp } from "./help.ts";

test("a help page fits its terminal: paragraphs are filled again, and a meaning that does not fit goes below its entry", () => {
  const page = [
    "Usage: tightbeam [options]",
    "",
    "Examples:",
    "  tightbeam listen --forward-to http://localhost:3000/hook  also to your own receiver",
    "  tightbeam listen                                          every event",
    "",
    "Forwarding needs no public address, since the events come over the API,",
    "and this program posts them.",
    "",
  ].join("\n");
  assert.deepEqual(wrapHelp(page, 60).split("\n"), [
    "Usage: tightbeam [options]",
    "",
    "Examples:",
    "  tightbeam listen --forward-to http://localhost:3000/hook",
    "      also to your own receiver",
    "  tightbeam listen",
    "      every event",
    "",
    "Forwarding needs no public address, since the events come",
    "over the API, and this program posts them.",
    "",
  ]);
  assert.equal(wrapHelp(page, 120), page);
});

test("a help page that is narrow enough stays the same, byte for byte", async () => {
  const { stdout } = await runOnTerminal(["messages", "list", "--help"]);
  assert.equal(wrapHelp(stdout, 120), stdout);
});
