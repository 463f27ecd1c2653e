import assert from "node:assert/strict";
import { test } from "node:test";
import { callOf, eventCall, messageCall, retryCall } from "./calls.ts";

test("a logged request is called again with its body in every language", () => {
  const body = { to: "+15005550100", content: { text: "It's ready" } };
  const sent = callOf("POST", "/v1/messages", body);
  assert.equal(sent.typescript, `tightbeam.messages.send(${JSON.stringify(body)})`);
  assert.match(sent.cli ?? "", /^api post \/v1\/messages -d '\{"to".*It'\\''s ready"\}\}'$/);
  const read = callOf("GET", "/v1/events?limit=1", undefined);
  assert.equal(read.typescript, 'tightbeam.request("GET", "/v1/events?limit=1")');
  assert.equal(read.cli, "api get '/v1/events?limit=1'");
  assert.equal("body" in read, false);
  const changed = callOf("PUT", "/v1/webhooks", { url: "https://a.example" });
  assert.equal(changed.typescript, 'tightbeam.request("PUT", "/v1/webhooks", { body: {"url":"https://a.example"} })');
});

test("messages, events and deliveries have commands of their own", () => {
  assert.equal(messageCall("msg_1").cli, "messages get msg_1");
  assert.equal(eventCall("evt_1").path, "/v1/events/evt_1");
  assert.equal(retryCall("dlv_1").cli, "webhooks retry dlv_1");
});
