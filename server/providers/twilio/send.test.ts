import assert from "node:assert/strict";
import { test } from "node:test";
import { outboundMessage } from "../../../test/support/outbound.ts";
import type { Outbound } from "../provider.ts";
import type { NoResponse, TwilioResponse } from "./api.ts";
import { CODES, type CodeKind } from "./codes.ts";
import { classifyResponse, formOf, type SendVerdict } from "./send.ts";
import { readSettings } from "./settings.ts";

const NOW = Date.UTC(2026, 0, 1);
const ACCOUNT = { accountSid: `AC${"0".repeat(32)}`, authToken: "t" };
const PUBLIC = readSettings(ACCOUNT);
const OWN_NETWORK = readSettings({ ...ACCOUNT, baseUrl: "http://10.0.0.7:8080/" });

function message(more: Partial<Outbound> = {}): Outbound {
  return outboundMessage({ messageId: "msg_1", to: "+15550100001", channel: "sms", ...more });
}

function file(url?: string): Outbound["attachments"][number] {
  const plain = { mimeType: "image/png", filename: "a.png", bytes: new Uint8Array(1), isAudioMessage: false };
  return url === undefined ? plain : { ...plain, url };
}

function answer(status: number, body: unknown = "", headers: Record<string, string> = {}): TwilioResponse {
  return { status, headers, body: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)) };
}

test("a form names both numbers, the text, the files and where to call back, and the messaging service if there is one", () => {
  const made = formOf(
    message({ text: "Grüße & +1", attachments: [file("https://a.example/x?y=1&z")] }),
    PUBLIC,
    "https://h/s",
  );
  assert.ok("form" in made);
  assert.equal(
    made.form.toString(),
    "To=%2B15550100001&From=%2B15005550006&Body=Gr%C3%BC%C3%9Fe+%26+%2B1&MediaUrl=https%3A%2F%2Fa.example%2Fx%3Fy%3D1%26z&StatusCallback=https%3A%2F%2Fh%2Fs",
  );
  const service = { ...PUBLIC, messagingServiceSid: `MG${"0".repeat(32)}` };
  const bare = formOf(message({ text: "", attachments: [file("https://a.example/x")] }), service, null);
  assert.ok("form" in bare);
  assert.deepEqual([...bare.form.keys()], ["To", "From", "MessagingServiceSid", "MediaUrl"]);
});

test("a message that Twilio would certainly refuse is not submitted, and the reason is for the customer", () => {
  const refusedBy = (given: Partial<Outbound>, settings = PUBLIC) => {
    const made = formOf(message(given), settings, null);
    return "refused" in made ? made.refused.code : null;
  };
  assert.equal(refusedBy({ text: "a".repeat(1_600) }), null);
  assert.equal(refusedBy({ text: "a".repeat(1_601) }), "21617");
  assert.equal(refusedBy({ text: "😀".repeat(1_600) }), null);
  assert.equal(refusedBy({ attachments: Array.from({ length: 10 }, () => file("https://a.example/x")) }), null);
  assert.equal(
    refusedBy({ attachments: Array.from({ length: 11 }, () => file("https://a.example/x")) }),
    "TOO_MANY_MEDIA",
  );
  for (const url of [
    undefined,
    "http://a.example/x",
    "https://127.0.0.1/x",
    "https://10.0.0.1/x",
    "https://mac.local/x",
  ]) {
    assert.equal(refusedBy({ attachments: [file(url)] }), "MEDIA_NOT_PUBLIC", String(url));
  }
  assert.equal(refusedBy({ attachments: [file("http://127.0.0.1:1/x")] }, OWN_NETWORK), null);
  const group: Outbound["group"] = {
    chatId: "chat_1",
    customerId: "cust_1",
    from: "+1",
    channel: "sms",
    contact: null,
    reference: null,
    participants: [],
  };
  assert.equal(refusedBy({ group }), "GROUP");
});

/** The outcome of a send that is refused, for each kind of code. */
const VERDICTS: Readonly<Record<CodeKind, SendVerdict["verdict"]>> = {
  unreachable: "refused",
  recipient: "refused",
  content: "refused",
  sender: "refused",
  account: "down",
  busy: "busy",
  queueFull: "queueFull",
  later: "later",
  unsure: "unknown",
};

test("every code of the table is judged by its kind, and only a recipient without SMS is not reachable", () => {
  for (const [code, { kind, words }] of Object.entries(CODES)) {
    const verdict = classifyResponse(answer(400, { code: Number(code), message: "theirs", status: 400 }), NOW);
    assert.equal(verdict.verdict, VERDICTS[kind], code);
    assert.match(words, /^[A-Z].*\.$/, code);
    if (verdict.verdict !== "refused") continue;
    assert.deepEqual([verdict.outcome.code, verdict.outcome.reason], [code, words]);
    assert.equal(verdict.outcome.notReachable ?? false, kind === "unreachable", code);
  }
});

test("an unknown code is judged by the HTTP status, with Twilio's own message", () => {
  const refused = classifyResponse(answer(400, { code: 21999, message: "Something new." }), NOW);
  assert.ok(refused.verdict === "refused");
  assert.deepEqual(refused.outcome, {
    outcome: "rejected",
    code: "21999",
    reason: "Twilio refused the message: Something new.",
  });
  assert.equal(classifyResponse(answer(403, { code: 20403, message: "no" }), NOW).verdict, "refused");
  assert.equal(classifyResponse(answer(401, { code: 20005, message: "no" }), NOW).verdict, "down");
  assert.equal(classifyResponse(answer(404, { code: 20404, message: "no" }), NOW).verdict, "down");
});

test("a message that may have been sent is unknown; one that provably was not is deferred or refused", () => {
  const silence = (kind: NoResponse["noResponse"]) => classifyResponse({ noResponse: kind, reason: "r" }, NOW).verdict;
  assert.deepEqual([silence("unsent"), silence("unanswered"), silence("tooLarge")], ["down", "unknown", "unknown"]);
  for (const status of [500, 502, 503, 504, 599, 408])
    assert.equal(classifyResponse(answer(status), NOW).verdict, "unknown");
  for (const body of ["", "<html>", "{}", "[]", "null", '{"sid":""}', '{"sid":7}', '{"sid":null}']) {
    assert.equal(classifyResponse(answer(201, body), NOW).verdict, "unknown", body);
  }
  // The API does not answer so: no message went through it, and the queue must not fail for it.
  for (const status of [301, 302, 400, 403, 405, 407, 413]) {
    assert.equal(classifyResponse(answer(status, "<html>"), NOW).verdict, "down", String(status));
  }
});

test("an accepted message has its sid, and its segments if known", () => {
  const taken = (more: object) => {
    const verdict = classifyResponse(answer(201, { sid: "SM1", status: "queued", ...more }), NOW);
    return verdict.verdict === "taken" ? [verdict.message.sid, verdict.message.segments] : null;
  };
  assert.deepEqual(taken({ num_segments: "3" }), ["SM1", 3]);
  assert.deepEqual(taken({ num_segments: 2 }), ["SM1", 2]);
  for (const more of [{}, { num_segments: "0" }, { num_segments: null }, { num_segments: "many" }]) {
    assert.deepEqual(taken(more), ["SM1", null]);
  }
});

test("a rate limit pauses for as long as Retry-After says, at most an hour", () => {
  const waits = (retryAfter?: string) => {
    const headers = retryAfter === undefined ? {} : { "retry-after": retryAfter };
    const verdict = classifyResponse(answer(429, { code: 20429, message: "" }, headers), NOW);
    return verdict.verdict === "busy" ? verdict.waitMs : "?";
  };
  assert.equal(waits(), null);
  assert.equal(waits("7"), 7_000);
  assert.equal(waits("0"), 1_000);
  assert.equal(waits("999999"), 3_600_000);
  assert.equal(waits(new Date(NOW + 9_000).toUTCString()), 9_000);
  assert.equal(waits("soon"), null);
  assert.equal(classifyResponse(answer(429, "<html>"), NOW).verdict, "busy");
  assert.equal(classifyResponse(answer(429, { code: 21611, message: "" }), NOW).verdict, "queueFull");
});

test("Twilio's message about a refusal reaches the customer without the account's ids", () => {
  const said = {
    code: 21999,
    message: `The From number is not of AC${"0a".repeat(16)} or MG${"1b".repeat(16)}.`,
    status: 400,
  };
  const verdict = classifyResponse(answer(400, said), NOW);
  assert.ok(verdict.verdict === "refused");
  assert.equal(verdict.outcome.reason, "Twilio refused the message: The From number is not of … or ….");
});
