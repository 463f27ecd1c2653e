import assert from "node:assert/strict";
import test from "node:test";
import { findAddress, numberInPath, pathOfPhone, pathOfRequest, shortenId } from "./addresses.ts";

test("an id leads to its page, also out of a sentence or a URL", () => {
  assert.equal(findAddress("msg_01a2-b3")?.path, "/m/msg_01a2-b3");
  assert.equal(findAddress("see evt_01a2 for it")?.path, "/e/evt_01a2");
  assert.equal(findAddress("http://localhost/d/dlv_01a2")?.path, "/d/dlv_01a2");
  assert.equal(findAddress(" req_01a2 ")?.path, "/r/req_01a2");
  assert.equal(findAddress("wh_01a2")?.path, "/webhooks/endpoints/wh_01a2");
});

test("a request leads to its page by whatever id its caller chose", () => {
  assert.equal(pathOfRequest("order:7.b"), "/logs/order%3A7.b");
  assert.equal(pathOfRequest("req_01a2"), "/logs/req_01a2");
});

test("a phone number leads to its phone, however it is written", () => {
  assert.equal(findAddress("+1 (500) 555-0100")?.path, "/p/+15005550100");
});

test("other words lead nowhere", () => {
  assert.equal(findAddress("hello"), null);
  assert.equal(findAddress("5550100"), null);
});

test("an id is shortened to its kind and its end", () => {
  assert.equal(shortenId("msg_01a205cd-a7ab-7577-935a-090c3e794342"), "msg_…3e794342");
  assert.equal(shortenId("msg_1"), "msg_1");
});

test("a phone's page has the number as people write it, and any address comes back from its path", () => {
  assert.equal(pathOfPhone("+15005550199"), "/phone/+15005550199");
  for (const number of ["+15005550199", "a+b@example.com", "50%"])
    assert.equal(numberInPath(pathOfPhone(number).slice("/phone/".length)), number);
  assert.equal(numberInPath("%2B1500"), "+1500");
  assert.equal(numberInPath("50%"), "50%");
});
