/** A service that does not expect a proxy warns once of forwarded requests. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Log } from "../../server/log.ts";
import { startTestService } from "../support/service.ts";

/** Starts a service, sends it two requests like a proxy, and returns its warnings. */
async function warnedOf(env: Record<string, string>, header: string): Promise<string[]> {
  const warned: string[] = [];
  const nothing = () => {};
  const warn: Log["warn"] = (event, { reason = "" } = {}) => {
    if (event === "forwarded request") warned.push(reason);
  };
  const api = await startTestService(env, { log: { debug: nothing, info: nothing, warn, error: nothing } });
  try {
    await api.ask("GET", "/v1/messages");
    assert.deepEqual(warned, [], "a request without a proxy's header warns of nothing");
    for (let count = 0; count < 2; count += 1)
      await api.ask("GET", "/v1/messages", { headers: { [header]: "203.0.113.7" } });
  } finally {
    await api.stop();
  }
  return warned;
}

test("the first forwarded request warns once that TB_PUBLIC_URL is not set and loopback may be open", async () => {
  for (const header of ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"]) {
    const warned = await warnedOf({}, header);
    assert.equal(warned.length, 1, header);
    assert.match(warned[0] ?? "", /set TB_PUBLIC_URL/);
  }
});

test("a service whose TB_PUBLIC_URL names another host keeps webhooks off loopback", async () => {
  const api = await startTestService({ TB_PUBLIC_URL: "https://tightbeam.example" });
  try {
    // The request goes to the listening address, because nothing listens at the public address here.
    const answer = await fetch(`http://127.0.0.1:${api.service.port}/v1/webhooks`, {
      method: "PUT",
      headers: { Authorization: `Bearer ${api.key}`, "Content-Type": "application/json" },
      body: JSON.stringify({ url: "http://127.0.0.1:9/hook", events: ["*"] }),
    });
    const { error } = (await answer.json()) as { error?: { code: string } };
    assert.deepEqual([answer.status, error?.code], [400, "VALIDATION_ERROR"]);
  } finally {
    await api.stop();
  }
});
