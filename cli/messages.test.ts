import assert from "node:assert/strict";
import { test } from "node:test";
import { entry, message, pagination, runCli, runOnTerminal, serverWith } from "../test/support/cli.ts";

test("a piped list is one JSON array, with every page for --all", async (t) => {
  const { env, requests } = await serverWith(t, {
    "GET /v1/messages": (request) =>
      request.query.cursor === "c1"
        ? { data: { messages: [message("sent", { id: "msg_1" })], pagination } }
        : { data: { messages: [message("sent", { id: "msg_2" })], pagination: { hasMore: true, nextCursor: "c1" } } },
  });
  const first = await runCli(["messages", "list", "--status", "sent", "--to", "+15005550100", "--limit", "1"], { env });
  assert.deepEqual([first.code, first.stderr], [0, ""]);
  assert.deepEqual(JSON.parse(first.stdout), [message("sent", { id: "msg_2" })]);
  assert.deepEqual(requests[0]?.query, { status: "sent", to: "+15005550100", limit: "1" });
  const all = await runCli(["messages", "list", "--all"], { env });
  assert.deepEqual(
    JSON.parse(all.stdout).map((row: { id: string }) => row.id),
    ["msg_2", "msg_1"],
  );
});

test("a list on a terminal is a table that no stranger's text can break, with the option for the next page", async (t) => {
  const nasty = message("failed", { content: { text: `\u001b[2J\nreset\u202e ${"x".repeat(200)}`, mediaUrls: [] } });
  const { env } = await serverWith(t, {
    "GET /v1/messages": { data: { messages: [nasty], pagination: { hasMore: true, nextCursor: "c1" } } },
  });
  const { code, stdout, stderr } = await runOnTerminal(["messages", "list"], env);
  assert.equal(code, 0);
  const [heading, row, end] = stdout.split("\n");
  assert.match(heading ?? "", /^ID +STATUS +CHANNEL +LINE +CONTACT +CREATED +TEXT$/);
  assert.match(row ?? "", /^msg_1 +failed .* �\[2J reset� x+…$/);
  assert.equal(row?.length, 120);
  assert.equal(end, "");
  assert.match(stderr, /--cursor c1/);
  assert.equal(JSON.parse((await runOnTerminal(["messages", "list", "--json"], env)).stdout).length, 1);
  assert.match((await runCli(["messages", "list", "--no-json"], { env })).stdout, /^ID /);
});

test("a list names the contact, whoever wrote", async (t) => {
  const [line, contact] = ["+15005550001", "+15005550100"];
  const sent = message("sent", { direction: "outbound", from: line, to: contact });
  const received = message("received", { direction: "inbound", from: contact, to: line });
  const { env } = await serverWith(t, { "GET /v1/messages": { data: { messages: [received, sent], pagination } } });
  const { stdout } = await runOnTerminal(["messages", "list", "--wide"], env);
  const rows = stdout.split("\n").slice(1, 3);
  for (const row of rows) assert.match(row, /\+15005550001 +\+15005550100 /);
  assert.deepEqual(
    rows.map((row) => row.split(/ +/)[1]),
    ["received", "sent"],
  );
});

test("a list and a message say that a person wrote it on the Mac", async (t) => {
  const written = message("sent", { origin: "device", content: { text: "By hand", mediaUrls: [] } });
  const file = message("sent", { origin: "device", content: { text: null, mediaUrls: [] } });
  const { env } = await serverWith(t, {
    "GET /v1/messages": { data: { messages: [written, file], pagination } },
    "GET /v1/messages/msg_1": { data: written },
  });
  const { stdout } = await runOnTerminal(["messages", "list", "--wide"], env);
  const [, row = "", other = ""] = stdout.split("\n");
  assert.match(row, / \(written on the device\) By hand$/);
  assert.match(other, / \(written on the device\)$/);
  assert.match((await runOnTerminal(["messages", "get", "msg_1"], env)).stdout, /origin +written on the device/);
});

test("messages update changes the text and the time of a scheduled message", async (t) => {
  const { env, requests } = await serverWith(t, { "PATCH /v1/messages/msg_1": { data: message("scheduled") } });
  const args = ["messages", "update", "msg_1", "--text", "Later", "--at", "2031-05-01T09:00:00Z"];
  assert.match((await runOnTerminal(args, env)).stdout, /status +scheduled/);
  assert.deepEqual(requests.at(-1)?.body, { content: { text: "Later" }, scheduledAt: "2031-05-01T09:00:00Z" });
});

test("messages get, cancel, retry and delete call their routes and show the result", async (t) => {
  const cancelled = message("cancelled", { timeline: [entry("scheduled"), entry("cancelled", { reason: "asked" })] });
  const { env, requests } = await serverWith(t, {
    "GET /v1/messages/msg_1": { data: message("failed", { errorCode: "EXPIRED", errorMessage: "Too late." }) },
    "DELETE /v1/messages/msg_1/schedule": { data: cancelled },
    "POST /v1/messages/msg_1/retry": { status: 202, data: message("queued") },
    "DELETE /v1/messages/msg_1": { data: { id: "msg_1", deleted: true } },
  });
  const shown = async (line: string) => (await runOnTerminal(line.split(" "), env)).stdout;
  assert.match(await shown("messages get msg_1"), /status +failed[\s\S]+error +EXPIRED Too late\./);
  assert.match(await shown("messages cancel msg_1"), /scheduled[\s\S]+cancelled +imessage +asked/);
  assert.match(await shown("messages retry msg_1 --may-duplicate"), /status +queued/);
  assert.deepEqual(requests.at(-1)?.body, { mayDuplicate: true });
  assert.equal(await shown("messages delete msg_1"), "msg_1 deleted\n");
});

test("messages get shows the reason of each timeline entry whole, and segments and encoding of an SMS", async (t) => {
  const reason = `failover: Carrier A refused it (ESME_RINVDSTADR); SMS via Carrier B (${"route +1, ".repeat(14)}at last)`;
  const data = message("sent", { segments: 3, encoding: "UCS-2", timeline: [entry("queued", { reason })] });
  const { env } = await serverWith(t, { "GET /v1/messages/msg_1": { data } });
  const { stdout } = await runOnTerminal(["messages", "get", "msg_1"], env);
  assert.match(stdout, /segments +3\nencoding +UCS-2\n/);
  assert.ok(stdout.replace(/\s+/g, " ").includes(reason), stdout);
  for (const line of stdout.split("\n")) assert.ok(line.length <= 120, line);
});
