import assert from "node:assert/strict";
import { test } from "node:test";
import { COMMAND, envFor, runCli, runOnTerminal } from "../test/support/cli.ts";
import { spawnCommand } from "../test/support/process.ts";
import { startTestService } from "../test/support/service.ts";
import { until } from "../test/support/wait.ts";

test("requests lists the log by its filters, gets one with its bodies, and counts the errors", async (t) => {
  const api = await startTestService();
  t.after(() => api.stop());
  const env = envFor(t, api);
  await api.ask("POST", "/v1/messages", { body: { to: "+15005550100", content: { text: "Hello" } } });
  await api.ask("GET", "/v1/messages/msg_nope");
  const listed = async (...args: string[]) => JSON.parse((await runCli(["requests", ...args], { env })).stdout);
  await until(async () => (await listed("--status", "4xx")).length === 1, { what: "the log" });
  const [refused] = await listed("list", "--status", "4xx");
  assert.deepEqual([refused.path, refused.errorCode], ["/v1/messages/msg_nope", "NOT_FOUND"]);
  assert.deepEqual(
    (await listed("list", "--method", "post", "--path", "/v1/messages")).map(
      ({ status }: { status: number }) => status,
    ),
    [202],
  );
  const { stdout } = await runOnTerminal(["requests", "get", refused.id], env);
  assert.match(stdout, /^id +req_[\s\S]*404[\s\S]*Response\n\{"success":false/);
  const errors = await runOnTerminal(["requests", "errors"], env);
  assert.match(errors.stdout, /^COUNT +STATUS +CODE +LAST[\s\S]*1 +404 +NOT_FOUND .*GET \/v1\/messages\/:id/);
});

test("requests --follow prints what matches, the oldest first, and goes on with what comes", async (t) => {
  const api = await startTestService();
  t.after(() => api.stop());
  await api.ask("GET", "/v1/messages/msg_before");
  const paths = (text: string) =>
    text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line).path);
  const spawned = spawnCommand(t, [...COMMAND, "requests", "--follow", "--status", "404"], envFor(t, api));
  await until(() => spawned.output.stderr.includes("Following the requests"), { what: "--follow" });
  await api.ask("GET", "/v1/messages/msg_one");
  await api.ask("GET", "/v1/messages");
  await api.ask("GET", "/v1/messages/msg_two");
  await until(() => paths(spawned.output.stdout).includes("/v1/messages/msg_two"), { what: "the last request" });
  const shown = paths(spawned.output.stdout).filter((path) => path !== "/v1/messages/msg_before");
  assert.deepEqual(shown, ["/v1/messages/msg_one", "/v1/messages/msg_two"]);
});
