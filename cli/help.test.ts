import assert from "node:assert/strict";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { runOnTerminal } from "../test/support/cli.ts";
import { COMMAND_GROUPS } from "./command-groups.ts";
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

test("the help page lists every command in a group, each with one line of at most 80 columns", async () => {
  const { stdout } = await runOnTerminal(["--help"]);
  const page = stripVTControlCharacters(stdout);
  const listed = page.slice(page.indexOf("Service:\n"), page.indexOf("\nBegin:\n"));
  const groups = listed.trim().split("\n\n");
  assert.deepEqual(
    groups.map((group) => group.split("\n")[0]),
    Object.keys(COMMAND_GROUPS),
  );
  const lines = groups.flatMap((group) => group.split("\n").slice(1));
  for (const line of lines) assert.match(line, /^ {2}[a-z][a-z-]*( \[command\])? {2,}\S.*$/);
  for (const line of lines) assert.ok(line.length <= 80, line);
  const names = Object.values(COMMAND_GROUPS).flatMap((commands) => Object.keys(commands));
  assert.deepEqual(
    lines.map((line) => line.trim().split(" ")[0]),
    [...names, "help"],
  );
  assert.equal((await runOnTerminal(["help"])).stdout, stdout);
});
