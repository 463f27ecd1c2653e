import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { greetingOf, type Started } from "./greeting.ts";

const STARTED: Started = {
  url: "http://127.0.0.1:8080",
  dataDir: "./data",
  command: "npx tightbeam",
  environment: null,
  link: "http://127.0.0.1:8080/#link=tbl_1",
  offer: "Press o to open it.",
  generated: { apiKey: "tb_1", adminKey: "tba_1" },
};

test("the first start greets with the README's three lines, and every line fits 80 columns", () => {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  const [, commands = ""] = /```sh\n((?:npx tightbeam .*\n){3})```/.exec(readme) ?? [];
  assert.notEqual(commands, "");
  const greeting = greetingOf(STARTED);
  assert.ok(greeting.includes(`\n${commands.replace(/^/gm, "  ").trimEnd()}\n\n`), greeting);
  for (const line of greeting.split("\n")) assert.ok(line.length <= 80, line);
});

test("a later start shows neither keys nor first commands, but how to open the console", () => {
  const greeting = greetingOf({ ...STARTED, generated: {} });
  assert.doesNotMatch(greeting, /tb_1|tba_1|npx tightbeam send|curl/);
  assert.match(greeting, /\n {2}Press o to open it\.\n.*\n {2}npx tightbeam open\n/);
});

test("with another data directory each command names it", () => {
  const greeting = greetingOf({ ...STARTED, environment: "TB_DATA_DIR=/srv/data", command: "tightbeam" });
  assert.equal(greeting.match(/^ {2}TB_DATA_DIR=\/srv\/data tightbeam /gm)?.length, 4);
});

test("without a console there is no link", () => {
  assert.doesNotMatch(greetingOf({ ...STARTED, link: null, offer: null }), /console|link|open/);
});
