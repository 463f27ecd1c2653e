/** The cache of messages: what it says about a claimed message that waits for its turn. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { message } from "../../../test/support/lifecycle.ts";
import { MessageCache } from "./message-cache.ts";

function cacheWith(...kept: Parameters<typeof message>) {
  const cache = new MessageCache();
  const claimed = message(...kept);
  cache.keepClaimed(claimed);
  return { cache, claimed };
}

test("a claimed message has not changed until a later version of it is kept", () => {
  const { cache, claimed } = cacheWith({ status: "pending", version: 5 });
  assert.equal(cache.hasChangedSince(claimed), false);
  cache.keep({ ...claimed, status: "sent", version: 6 });
  assert.equal(cache.hasChangedSince(claimed), true);
});

test("a claimed message that ended has changed, although messages that ended are not cached", () => {
  const { cache, claimed } = cacheWith({ status: "pending", version: 5 });
  cache.keep({ ...claimed, status: "delivered", version: 7 });
  assert.equal(cache.get(claimed.id), null);
  assert.equal(cache.hasChangedSince(claimed), true);
});

test("a message that had ended when it was claimed has not changed", () => {
  const { cache, claimed } = cacheWith({ status: "delivered", version: 5 });
  assert.equal(cache.hasChangedSince(claimed), false);
});

test("a claim replaces no later version", () => {
  const { cache, claimed } = cacheWith({ status: "pending", version: 5 });
  cache.keep({ ...claimed, status: "sent", version: 6 });
  cache.keepClaimed(claimed);
  assert.equal(cache.get(claimed.id)?.version, 6);
});
