import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { RecordedStep } from "../sdk/play-steps.ts";
import { emptyDirectory, envFor, runOnTerminal } from "../test/support/cli.ts";
import { startTestService } from "../test/support/service.ts";

const PHONE = "+15005550199";
const ECHO = "+15005550110";

/** A file with these lines, and the environment of a service to run it against. */
async function fileWith(t: TestContext, text: string) {
  const api = await startTestService();
  t.after(() => api.stop());
  const file = join(emptyDirectory(t), "recorded.test.mjs");
  writeFileSync(file, text);
  return { file, env: envFor(t, api) };
}

const recorded = (steps: readonly RecordedStep[]) =>
  `import { test } from "node:test";\n\nconst steps = [\n${steps.map((step) => `  ${JSON.stringify(step)},\n`).join("")}];\n\ntest("x", () => {});\n`;

test("test plays every kind of step of a recorded test, and ends with 0 if all passed", async (t) => {
  const steps: RecordedStep[] = [
    { phone: ECHO, write: { text: "First" }, as: "first" },
    { event: "message.inbound", of: "$first" },
    { send: { to: ECHO, content: { text: "Hello" } }, as: "sent" },
    { event: "message.delivered", of: "$sent" },
    // The reply of the phone itself, and not the contact's message before.
    { event: "message.inbound", data: { text: "You said: Hello" }, as: "echo" },
    { phone: ECHO, react: { messageId: "$echo", type: "like" } },
    { event: "message.reaction", of: "$echo" },
    { phone: ECHO, react: { messageId: "$echo", type: "love" } },
    { event: "message.reaction", of: "$echo", data: { reaction: { type: "love" } } },
    { request: { to: PHONE, amount: "5.00" }, as: "request" },
    { event: "message.delivered", of: "$request" },
    { phone: PHONE, pay: { requestId: "$request" }, as: "paid" },
    { event: "payment.request.paid", of: "$request" },
    { phone: PHONE, change: { readReceipts: false } },
    { phone: PHONE, call: { action: "ring" } },
    { event: "facetime.incoming" },
    { phone: PHONE, call: { action: "answer" } },
    { event: "facetime.status_changed", data: { status: "answered" } },
    { phone: PHONE, call: { action: "hangup" } },
  ];
  const { file, env } = await fileWith(t, recorded(steps));
  const { code, stdout, stderr } = await runOnTerminal(["test", file], env);
  assert.deepEqual([code, stderr], [0, ""], stdout);
  assert.match(stdout, /^passed {2}\+15005550110 writes "First"\npassed {2}wait for message\.inbound \$first\n/);
  assert.match(stdout, /\nThe test passed: 19 of 19 steps\.\n$/);
  const again = await runOnTerminal(["test", file, "--json"], env);
  const { passed, steps: results } = JSON.parse(again.stdout);
  assert.deepEqual([again.code, passed, results.length], [0, true, 19]);
});

test("test stops at the first step that fails, says what came instead, and ends with 1", async (t) => {
  const { file, env } = await fileWith(
    t,
    recorded([
      { phone: PHONE, call: { action: "ring" } },
      { phone: PHONE, react: { messageId: "msg_nobody", type: "like" } },
      { phone: PHONE, write: { text: "Never" } },
    ]),
  );
  const { code, stdout, stderr } = await runOnTerminal(["test", file], env);
  assert.equal(code, 1);
  assert.match(stdout, /^passed {2}FaceTime on \S+: ring\nfailed {2}\S+ reacts to msg_nobody with like: .+\n$/);
  assert.match(stderr, /The test failed: it ended after 2 of 3 steps\./);
});

test("test reads a file that a formatter wrote anew, and names what is wrong with another", async (t) => {
  const formatted = `const steps = [\n  {\n    phone: "${PHONE}",\n    change: { online: true }, // as it was\n  },\n]\n`;
  const { file, env } = await fileWith(t, formatted);
  assert.equal((await runOnTerminal(["test", file], env)).code, 0);
  const refusals: [string, RegExp][] = [
    ["test('x', () => {});\n", /has no const steps = \[\.\.\.\]/],
    ["const steps = [\n  step(1),\n];\n", /cannot be read alone \(step is not defined\)/],
    ["const steps = [\n  1,\n];\n", /no list of objects/],
    ['const steps = [\n  {"does":"write"},\n];\n', /Step 1 has no known form: \{"does":"write"\}/],
  ];
  for (const [text, expected] of refusals) {
    writeFileSync(file, text);
    const { code, stderr } = await runOnTerminal(["test", file], env);
    assert.match(stderr, expected);
    assert.notEqual(code, 0);
  }
  assert.match((await runOnTerminal(["test", `${file}.gone`], env)).stderr, /cannot be read \(ENOENT\)/);
});
