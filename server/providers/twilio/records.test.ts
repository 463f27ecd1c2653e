/** Responses of the API are parsed whatever is missing, and paths in them are requested as they are. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { systemClock } from "../../clock.ts";
import { Api } from "./api.ts";
import { readAccountStatus, readMedia, readMessage, readPage, readRefusal } from "./records.ts";
import { readSettings } from "./settings.ts";

const body = (value: unknown) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value));

test("a message is read with its numbers as text, its date, and where its files are listed", () => {
  const path = "/2010-04-01/Accounts/AC1/Messages/MM1/Media.json";
  const message = readMessage(
    body({
      sid: "MM1",
      status: "received",
      direction: "inbound",
      num_segments: "2",
      num_media: "3",
      error_code: null,
      error_message: "",
      from: "+15550100001",
      to: "",
      date_created: "Fri, 24 May 2019 17:44:46 +0000",
      subresource_uris: { media: path },
    }),
  );
  assert.deepEqual(message, {
    sid: "MM1",
    status: "received",
    errorCode: null,
    errorMessage: null,
    segments: 2,
    body: "",
    from: "+15550100001",
    to: null,
    isOutbound: false,
    createdAt: Date.UTC(2019, 4, 24, 17, 44, 46),
    mediaCount: 3,
    mediaPath: path,
  });
  const least = readMessage(body({ sid: "SM1", num_segments: "0", num_media: "x", subresource_uris: { media: "x" } }));
  assert.deepEqual([least?.segments, least?.mediaCount, least?.mediaPath, least?.createdAt], [null, 0, null, null]);
});

test("a page says whether every row could be read; a page that leads to another host is refused", () => {
  const page = readPage(body({ messages: [{ sid: "SM1" }, { sid: "" }, null], next_page_uri: "" }));
  assert.deepEqual([page?.messages.length, page?.isWhole, page?.next], [1, false, null]);
  assert.equal(readPage(body({ messages: [{ sid: "SM1" }], next_page_uri: "/next" }))?.isWhole, true);
  assert.equal(readPage(body({ messages: [], next_page_uri: "https://elsewhere.example/" })), null);
  assert.equal(readPage(body({})), null);
});

test("a file is at the path of its record without the ending", () => {
  const list = [{ uri: "/A/Media/ME1.json", content_type: "image/png" }, { uri: "/A/Media/ME2" }, { uri: "ME3" }, null];
  assert.deepEqual(readMedia(body({ media_list: list })), [
    { path: "/A/Media/ME1", mimeType: "image/png" },
    { path: "/A/Media/ME2", mimeType: null },
  ]);
  assert.equal(readMedia(body({ messages: [] })), null);
});

test("no response makes the parser throw", () => {
  fc.assert(
    fc.property(fc.oneof(fc.json(), fc.string()), (text) => {
      for (const read of [readMessage, readPage, readMedia, readRefusal, readAccountStatus]) read(body(text));
    }),
  );
});

function apiAt(t: TestContext, baseUrl: string): Api {
  const api = new Api(readSettings({ accountSid: "AC1", authToken: "x", baseUrl }), systemClock(), 1);
  t.after(() => api.close());
  return api;
}

test("a path from the API is requested as it is, also if the base address has a path", (t) => {
  const twilio = apiAt(t, "https://api.twilio.com/");
  assert.equal(twilio.addressOf("/2010-04-01/a?b"), "https://api.twilio.com/2010-04-01/a?b");
  const below = apiAt(t, "https://sms.example/api/laml");
  assert.equal(below.addressOf("/2010-04-01/a"), "https://sms.example/api/laml/2010-04-01/a");
  assert.equal(below.addressOf("/api/laml/2010-04-01/a?b"), "https://sms.example/api/laml/2010-04-01/a?b");
});

test("a request is not written, although its connection opened, once another process runs the instance", async (t) => {
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    response.end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let mayWrite = true;
  const settings = readSettings({ accountSid: "AC1", authToken: "x", baseUrl });
  const api = new Api(settings, systemClock(), 1, () => mayWrite);
  t.after(() => api.close());
  const send = () => api.request({ method: "POST", path: "/Messages.json", form: new URLSearchParams() });
  assert.equal("status" in (await send()), true);
  mayWrite = false;
  const refused = { noResponse: "unsent", reason: "another process runs the instance by now" };
  assert.deepEqual(await send(), refused);
  assert.equal(requests, 1);
});
