import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { ANSWER, READ_INBOX, SEND } from "./first-calls.ts";

test("the first steps are the three lines of the README", () => {
  const readme = readFileSync(new URL("../../../README.md", import.meta.url), "utf8");
  const lines = [SEND, ANSWER, READ_INBOX].map(({ cli }) => `npx tightbeam ${cli}\n`);
  assert.ok(readme.includes(`\`\`\`sh\n${lines.join("")}\`\`\``));
});
