import assert from "node:assert/strict";
import { test } from "node:test";
import { AT, entry, KEY, message, runCli, runOnTerminal, serverWith } from "../test/support/cli.ts";

const accepted = { status: 202, data: message("queued") };

test("send follows the message to its delivery, and on a terminal shows its page and each step once", async (t) => {
  const { env, requests } = await serverWith(t, {
    "POST /v1/messages": accepted,
    "GET /v1/messages/msg_1": [
      { data: message("queued", { timeline: [entry("queued")] }) },
      { data: message("sent", { timeline: [entry("queued"), entry("sent")] }) },
      { data: message("delivered", { timeline: [entry("queued"), entry("sent"), entry("delivered")] }) },
    ],
  });
  const { code, stdout, stderr } = await runOnTerminal(["send", "+15005550100", "Hello"], env);
  assert.deepEqual([code, stderr], [0, ""]);
  assert.deepEqual(stdout.split("\n"), [
    "msg_1  to +15005550100  from +15005550000  by imessage",
    `${env.TIGHTBEAM_URL}/m/msg_1`,
    `09:00:00.000Z  queued     imessage`,
    `09:00:00.000Z  sent       imessage`,
    `09:00:00.000Z  delivered  imessage`,
    "",
  ]);
  assert.deepEqual(requests[0]?.body, { to: "+15005550100", content: { text: "Hello" } });
  assert.equal(requests[0]?.headers.authorization, `Bearer ${KEY}`);
});

test("send takes every option of a message, and a text that starts with a dash", async (t) => {
  const { env, requests } = await serverWith(t, { "POST /v1/messages": accepted });
  const options =
    "--from +15005550001 --channel sms,imessage --no-fallback --attachments drop --attach https://example.com/a.pdf --at 2031-05-01T09:00:00Z --no-follow --metadata a=1 " +
    "--metadata b=x=y --callback-url https://example.com/c --external-id o-7 --idempotency-key k";
  const { code } = await runOnTerminal(["send", "+15005550100", ...options.split(" "), "--", "- Hello"], env);
  assert.equal(code, 0);
  assert.deepEqual(requests[0]?.body, {
    to: "+15005550100",
    content: { text: "- Hello" },
    from: "+15005550001",
    attachments: [{ type: "url", url: "https://example.com/a.pdf" }],
    routing: { preference: ["sms", "imessage"], fallback: false, attachments: "drop" },
    scheduledAt: "2031-05-01T09:00:00Z",
    callbackUrl: "https://example.com/c",
    externalMessageId: "o-7",
    metadata: { a: "1", b: "x=y" },
  });
  assert.equal(requests[0]?.headers["idempotency-key"], "k");
  assert.equal(requests.length, 1);
});

test("send --dry-run shows channel, segments and every considered route, and sends nothing", async (t) => {
  const hop = (channel: string, usable: boolean, reason: string) => ({
    ...{ channel, instanceId: "inst_1", usable },
    ...{ attachmentsDropped: 2, reason },
  });
  const data = {
    dryRun: true,
    to: "+15005550102",
    from: "+15005550001",
    channel: "sms",
    instanceId: "inst_1",
    reason: "SMS fallback, via Sandbox",
    attachmentsDropped: 2,
    hops: [hop("imessage", false, "not on iMessage"), hop("sms", true, "SMS fallback, via Sandbox")],
    segments: 2,
    encoding: "UCS-2",
    scheduledAt: null,
    quietUntil: null,
  };
  const { env, requests } = await serverWith(t, { "POST /v1/messages": { data } });
  const line = ["send", "+15005550102", "Hello", "--dry-run"];
  const { code, stdout, stderr } = await runOnTerminal(line, env);
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(stdout, /channel +sms\n/);
  assert.match(stdout, /files not sent +2\n/);
  assert.match(stdout, /segments +2\nencoding +UCS-2\n/);
  assert.match(stdout, /imessage +no +not on iMessage\n/);
  assert.match(stdout, /sms +yes +SMS fallback, via Sandbox\n\nNothing was sent\.\n$/);
  assert.deepEqual(
    requests.map(({ path, query }) => [path, query]),
    [["/v1/messages", { dryRun: "true" }]],
  );
  assert.deepEqual(JSON.parse((await runCli(line, { env })).stdout), data);
});

test("send in a pipe prints the message in its final state as one JSON document, and nothing on stderr", async (t) => {
  const delivered = message("delivered", { timeline: [entry("queued"), entry("delivered")] });
  const { env } = await serverWith(t, {
    "POST /v1/messages": accepted,
    "GET /v1/messages/msg_1": { data: delivered },
  });
  const { code, stdout, stderr } = await runCli(["send", "+15005550100", "Hello"], { env });
  assert.deepEqual([code, stderr], [0, ""]);
  assert.deepEqual(JSON.parse(stdout), delivered);
});

test("send ends with 1 and the error code if the message fails, and still prints the message as JSON", async (t) => {
  const failed = message("failed", {
    errorCode: "REJECTED",
    errorMessage: "Refused by the carrier.",
    providerErrorCode: "8",
  });
  const { env } = await serverWith(t, { "POST /v1/messages": accepted, "GET /v1/messages/msg_1": { data: failed } });
  const { code, stdout, stderr } = await runCli(["send", "+15005550104", "Hello"], { env });
  assert.equal(code, 1);
  assert.equal(JSON.parse(stdout).status, "failed");
  assert.equal(stderr, "error: REJECTED Refused by the carrier.\n  providerErrorCode: 8\n");
});

test("send ends with 1 if the time is up, and says that the message continues", async (t) => {
  const { env } = await serverWith(t, {
    "POST /v1/messages": accepted,
    "GET /v1/messages/msg_1": { data: message("sent") },
  });
  const late = await runOnTerminal(["send", "+15005550103", "Hello", "--timeout", "0"], env);
  assert.equal(late.code, 1);
  assert.match(late.stderr, /^error: NOT_YET The message is sent after 0 s, .*\n.*tightbeam messages get msg_1\n$/);
  const enough = await runOnTerminal(["send", "+15005550103", "Hello", "--until", "sent"], env);
  assert.equal(enough.code, 0);
});

test("send keeps following through a restart of the server", async (t) => {
  const { env } = await serverWith(t, {
    "POST /v1/messages": accepted,
    "GET /v1/messages/msg_1": [{ drop: true }, { drop: true }, { data: message("delivered") }],
  });
  assert.equal((await runOnTerminal(["send", "+15005550100", "Hello"], env)).code, 0);
});

test("send does not follow a scheduled message, and says when it is due", async (t) => {
  const scheduled = { status: 202, data: message("scheduled", { scheduledAt: AT }) };
  const { env, requests } = await serverWith(t, { "POST /v1/messages": scheduled });
  const { code, stdout } = await runOnTerminal(["send", "+15005550100", "Later", "--at", AT], env);
  assert.equal(code, 0);
  assert.match(stdout, new RegExp(`scheduled for ${AT}`));
  assert.equal(requests.length, 1);
});

test("if the response to a send is lost, send prints the idempotency key for a safe retry", async (t) => {
  const { env, requests } = await serverWith(t, { "POST /v1/messages": { drop: true } });
  const { code, stderr } = await runOnTerminal(["send", "+15005550100", "Hello"], env);
  assert.equal(code, 1);
  assert.match(stderr, new RegExp(`--idempotency-key ${requests[0]?.headers["idempotency-key"]}\n$`));
});
