import assert from "node:assert/strict";
import { test } from "node:test";
import { keepOpened, openedRecords, recordAt } from "./recent.ts";

test("a page of a record, and no other page, is remembered by its noun and id", () => {
  assert.deepEqual(recordAt("/m/msg_1"), { path: "/m/msg_1", noun: "Message", id: "msg_1" });
  assert.equal(recordAt("/webhooks/deliveries/dlv_1")?.noun, "Delivery");
  assert.equal(recordAt("/phone/a%40example.com")?.id, "a@example.com");
  for (const path of ["/", "/messages", "/webhooks/deliveries", "/settings/keys", "/phone"])
    assert.equal(recordAt(path), null);
});

test("the five records that were opened last are kept, the last one first and none twice", () => {
  const paths = [
    "/m/msg_1",
    "/m/msg_2",
    "/messages",
    "/e/evt_1",
    "/d/dlv_1",
    "/m/msg_1",
    "/logs/a%20b",
    "/phone/+1500",
  ];
  const kept = paths.reduce(keepOpened, "");
  assert.deepEqual(
    openedRecords(kept).map(({ id }) => id),
    ["+1500", "a b", "msg_1", "dlv_1", "evt_1"],
  );
});

test("a text that another version has kept is read as far as it names records", () => {
  assert.deepEqual(openedRecords("nonsense\n/m/msg_1\n"), [recordAt("/m/msg_1")]);
});
