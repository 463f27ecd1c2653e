/** Timeline reasons name instances by their display names, and nothing that only the operator may see. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { carriersOn, reasonsOf, SMS_ONLY } from "../../../test/support/carriers.ts";
import { deferred, NOT_REACHABLE, REJECTED, UNKNOWN } from "../../../test/support/provider.ts";
import type { Outcome } from "../../providers/provider.ts";

const MINUTE_MS = 60_000;
/** Details that only the operator may see. */
const SECRET = "smsc.example:2775 refuses the password of acme-7";
const DOWN: Outcome = { outcome: "deferred", retryAfterMs: null, reason: SECRET, isDown: true };

test("each timeline reason names instances by their display names, and has the id of the chosen instance beside it", async (t) => {
  const { stage, mac, add, setRoutes } = await carriersOn(t);
  const [a, b] = [await add(), await add()];
  await setRoutes([a, b].map(({ id }) => ({ prefix: "+1", instanceId: id })));
  mac.provider.sendNext.push(NOT_REACHABLE);
  a.provider.sendNext.push(REJECTED);
  b.provider.sendNext.push(deferred(MINUTE_MS));
  const id = await stage.send();
  await stage.run();
  const { timeline, from } = await stage.message(id);
  assert.deepEqual(
    timeline.filter(({ reason }) => reason !== undefined).map(({ reason, instanceId }) => [reason, instanceId]),
    [
      [`iMessage (preferred), via Sandbox (this number's instance); from ${from} (default number)`, mac.id],
      ["fallback: NOT_REACHABLE; SMS via Carrier 1 (route +1)", a.id],
      ["failover: Carrier 1 refused it (E42); SMS via Carrier 2 (route +1)", b.id],
      ["busy", b.id],
    ],
  );
});

test("the reason why an instance is down is not shown to its customers", async (t) => {
  const { stage, add, setRoutes } = await carriersOn(t);
  const [a, b] = [await add(), await add()];
  await setRoutes([a, b].map(({ id }) => ({ prefix: "+1", instanceId: id })));
  for (const { provider } of [a, b]) provider.onSend = () => DOWN;
  const id = await stage.send(SMS_ONLY);
  for (let minutes = 0; minutes < 5; minutes += 1) await stage.clock.advance(MINUTE_MS);
  const reasons = reasonsOf(await stage.message(id));
  assert.ok(reasons.includes("Carrier 1 is down") && reasons.includes("Carrier 2 is down"), reasons.join("\n"));
  assert.ok(reasons.includes("moved: Carrier 1 is down; SMS via Carrier 2 (route +1)"), reasons.join("\n"));
  assert.doesNotMatch(JSON.stringify([await stage.message(id), await stage.events(id)]), /smsc|password|acme/);
});

test("the reason why an instance is down is not shown in the error of an unknown outcome", async (t) => {
  const { stage, add, setRoutes, flip } = await carriersOn(t);
  const carrier = await add();
  await setRoutes([{ prefix: "+1", instanceId: carrier.id }]);
  carrier.provider.sendNext.push(UNKNOWN);
  carrier.provider.onSettle = () => ({ outcome: "unknown", reason: SECRET });
  const id = await stage.send(SMS_ONLY);
  await stage.run();
  await flip(false, carrier);
  for (let minutes = 0; minutes < 10; minutes += 1) await stage.clock.advance(MINUTE_MS);
  const { errorCode, errorMessage } = await stage.message(id);
  assert.ok(carrier.provider.asked.length > 0);
  assert.equal(errorCode, "OUTCOME_UNKNOWN");
  assert.match(errorMessage ?? "", /\(its instance is down\)/);
  assert.doesNotMatch(JSON.stringify([await stage.message(id), await stage.events(id)]), /smsc|password|acme/);
});

test("a timeline reason calls a deleted instance “a deleted instance”", async (t) => {
  const { stage, add, setRoutes } = await carriersOn(t);
  const [a, b] = [await add(), await add()];
  await setRoutes([{ prefix: "+1", instanceId: a.id }]);
  a.provider.isUp = false;
  const id = await stage.send(SMS_ONLY);
  await stage.run();
  stage.providers.delete(a.id);
  await stage.deps.store.commit([{ op: "delete", table: "instances", where: { id: a.id } }]);
  await setRoutes([{ prefix: "+1", instanceId: b.id }]);
  await stage.clock.advance(2 * MINUTE_MS);
  const moved = "moved: a deleted instance is down; SMS via Carrier 2 (route +1)";
  assert.equal(reasonsOf(await stage.message(id)).at(-1), moved);
});
