import assert from "node:assert/strict";
import { test } from "node:test";
import { cpuMsOf } from "../../test/support/cpu-time.ts";
import { erasedTexts, isAboutPerson, type LoggedTexts, type Person, readRequest } from "./erased-request.ts";

const ID = "msg_0199c2f4-8a00-7000-8000-000000000016";
const PERSON: Person = { addresses: ["+15005550100", "jo.doe@example.com"], ids: new Set([ID]) };

const textsOf = (changes: Partial<LoggedTexts>): LoggedTexts => ({
  path: "/v1/messages",
  route: "/v1/messages",
  request: null,
  response: null,
  requestCut: false,
  responseCut: false,
  ...changes,
});
const isAbout = (changes: Partial<LoggedTexts>) => isAboutPerson(readRequest(textsOf(changes)), PERSON);

test("a body names a person by an address in any form in which a client may write it", () => {
  const forms = [
    '{"to":"+15005550100"}',
    '{"to":15005550100}',
    '{"to":"\\u002b15005550100"}',
    '{"to":"\\u002b1\\u0035005550100"}',
    '{"body":"{\\"to\\":\\"\\\\u002b1500555\\\\u00300100\\"}"}'.replace("\\\\u00300100", "0100"),
    '{"url":"https://example.com/?to=%2B15005550100"}',
    '{"url":"https://example.com/?to=%252B1%2535005550100"}',
    '{"url":"https://example.com/?to=%25252B1%252535005550100"}',
    '{"url":"https://example.com/?to=\\u00252B1%35005550100"}',
    "to=%2B1+500+555+0100",
    '{"text":"call +1 (500) 555-0100."}',
    '{"text":"call 1.500.555.0100"}',
    '{"text":"call 001 500 - 555 - 0100"}',
    '{"text":"call 0015005550100"}',
    '{"text":"call 01115005550100"}',
    '{"text":"call +1\u00a0500\u2011555\u20130100"}',
    '{"to":"jo.doe@example.com"}',
    '{"to":"Jo.Doe@Example.COM"}',
    '{"to":"jo.doe\\u0040example.com"}',
    "to=jo.doe%40example.com",
    "to=jo%2Edoe%2540example%252Ecom",
    '{"text":"write to <jo.doe@example.com>."}',
    `{"chatId":"${ID}"}`,
  ];
  for (const form of forms) {
    assert.ok(isAbout({ request: form }), form);
    assert.ok(isAbout({ response: form }), form);
  }
});

test("a body that has another address names nobody else", () => {
  const others = [
    '{"to":"+15005550101"}',
    '{"to":"+150055501001"}',
    '{"to":"+1500555010"}',
    '{"to":"+915005550100"}',
    '{"at":"2026-01-15T00:55:50.100Z"}',
    '{"to":["+1500555","0100"]}',
    '{"to":"jo.doe@example.com.au"}',
    '{"to":"jo.doe@example.community"}',
    '{"to":"ann-jo.doe@example.com"}',
    '{"to":"jo.doe@example"}',
    '{"id":"msg_0199c2f4-8a00-7000-8000-000000000017"}',
    '"erased"',
    "",
  ];
  for (const other of others) assert.ok(!isAbout({ request: other, response: other }), other);
});

test("a path names a person by an address or an id, however it is encoded", () => {
  const paths = [
    "/v1/chats/+15005550100/messages",
    "/v1/chats/%2B15005550100/messages",
    "/v1/chats/%252B1%2535005550100/messages",
    "/v1/chats/JO.DOE%40example.com/messages",
    `/v1/messages/${ID}/reactions`,
    `/v1/messages/${ID.replace("_", "%5F")}`,
    "/v1/messages?limit=1&to=%2B15005550100",
  ];
  for (const path of paths) assert.ok(isAbout({ path }), path);
  for (const path of ["/v1/chats/+15005550101/messages", "/v1/messages?limit=1"]) assert.ok(!isAbout({ path }), path);
});

test("a text that was cut counts as naming the person, unless its route names nobody but the operator's own records", () => {
  assert.ok(isAbout({ requestCut: true, request: "{" }));
  assert.ok(isAbout({ responseCut: true, response: "{", route: null }));
  assert.ok(isAbout({ path: `/v1/messages?x=${"y".repeat(9)}…` }));
  assert.ok(isAbout({ responseCut: true, response: "{", route: "/v1/admin/held" }));
  assert.ok(!isAbout({ responseCut: true, response: "{", route: "/v1/admin/keys" }));
  assert.ok(isAbout({ responseCut: true, response: '{"a":"+15005550100', route: "/v1/admin/keys" }));
});

test("the ids in a request are those of its path and bodies, decoded", () => {
  const chat = ID.replace("msg", "chat");
  const call = ID.replace("msg", "call");
  const texts = { path: `/v1/messages/${ID}`, request: `{"chatId":"${chat.replace("_", "\\u005f")}"}` };
  assert.deepEqual(readRequest(textsOf({ ...texts, response: `{"id":"${call}","other":"msg_1"}` })).ids, [
    ID,
    chat,
    call,
  ]);
});

test("an erased request has no bodies, and no address, id or value in its path; erasing it again changes nothing", () => {
  const rows = [
    ["/v1/chats/%2B15005550100/messages?limit=1", "/v1/chats/***/messages?limit=***"],
    [`/v1/messages/${ID}`, "/v1/messages/***"],
    ["/v1/messages", "/v1/messages"],
    ["/v1/messages?search=a%20word&=x&y&+15005550100", "/v1/messages?search=***&=***&y&***"],
    ["/v1/nothing/+15005550100x…", "/v1/nothing/***"],
    ["/v1/messages?search=a…", "/v1/messages?search=***"],
    ["/v1/messages?sear…", "/v1/messages?***"],
  ];
  for (const [path = "", expected] of rows) {
    const erased = erasedTexts(textsOf({ path, request: null, response: '{"a":1}', responseCut: true }), PERSON);
    assert.deepEqual(erased, textsOf({ path: expected ?? "", response: '"erased"' }));
    assert.ok(!isAbout(erased), path);
  }
});

test("looking for a person costs the same for each character, whatever the text", () => {
  const hostile = ["1".repeat(4_096), "1 ".repeat(2_048), "%25".repeat(1_365), "\\\\".repeat(2_048)];
  hostile.push("1500555010 ".repeat(370));
  hostile.push("@".repeat(4_096), "jo.doe@example.co".repeat(240), "msg_".repeat(1_024), "(".repeat(4_096));
  for (const text of hostile) {
    const texts = textsOf({ request: text, response: text });
    const cpuMs = cpuMsOf(() => {
      for (let time = 0; time < 50; time += 1) {
        isAboutPerson(readRequest(texts), PERSON);
      }
    });
    assert.ok(cpuMs < 1_000, `${text.slice(0, 20)}: ${cpuMs} ms`);
  }
});
