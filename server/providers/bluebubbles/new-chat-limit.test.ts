/** Tests of the limit of new conversations. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { mapMemory } from "../../../test/support/mac-outbound.ts";
import { NewChatLimit } from "./new-chat-limit.ts";

test("the hourly limit of new conversations holds across a restart", async () => {
  const clock = new SimulatedClock();
  const entries = new Map<string, string>();
  const begin = async () => {
    const newChats = new NewChatLimit(clock, mapMemory(entries), 3);
    await newChats.load();
    return newChats;
  };
  const first = await begin();
  assert.equal(await first.acquire(), null);
  await clock.advance(600_000);
  assert.equal(await first.acquire(), null);
  const second = await begin();
  assert.equal(await second.acquire(), null);
  assert.equal(await second.acquire(), 3_000_000);
  await second.release();
  assert.equal(await second.acquire(), null);
  await clock.advance(3_000_000);
  assert.equal(await second.acquire(), null);
  assert.equal(await second.acquire(), 600_000);
});

test("a stored count that cannot be parsed counts as none", async () => {
  for (const value of ["", "{", "null", '{"a":1}', '["x"]']) {
    const newChats = new NewChatLimit(new SimulatedClock(), mapMemory(new Map([["new-chats", value]])), 1);
    await newChats.load();
    assert.equal(await newChats.acquire(), null, value);
    assert.notEqual(await newChats.acquire(), null, value);
  }
});
