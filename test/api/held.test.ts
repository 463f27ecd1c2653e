/** Held messages over HTTP and on the command line: listed without content, released and discarded by an admin key only. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Health } from "../../sdk/wire.ts";
import { envFor, runCli, runOnTerminal } from "../support/cli.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

/** A service that was restored from a backup, and held these messages at its start. */
async function serviceWithHeld(t: TestContext, count: number): Promise<{ service: TestService; ids: string[] }> {
  const service = await startTestService();
  t.after(() => service.stop());
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
    const body = { to: "+15005550100", content: { text: `secret ${index}` }, scheduledAt };
    ids.push((await service.ask("POST", "/v1/messages", { body })).data.id);
  }
  await service.restart(async () => {
    await service.sql("update messages set due_at = created_at");
    const value = JSON.stringify({ takenAt: Date.now(), restoredAt: Date.now(), heldAt: null });
    await service.sql("insert into settings (name, value) values ('restored-backup', ?)", value);
    return {};
  });
  return { service, ids };
}

test("held messages are listed newest first, page by page, without their content", async (t) => {
  const { service, ids } = await serviceWithHeld(t, 5);
  const key = service.adminKey;
  const listed: string[] = [];
  for (let cursor = ""; ; ) {
    const { data } = await service.ask("GET", `/v1/admin/held?limit=2${cursor}`, { key });
    listed.push(...data.messages.map(({ id }: { id: string }) => id));
    assert.doesNotMatch(JSON.stringify(data), /secret/);
    if (!data.pagination.hasMore) break;
    cursor = `&cursor=${data.pagination.nextCursor}`;
  }
  assert.deepEqual(listed, ids.toReversed());
  const { timeline, status } = (await service.ask("GET", `/v1/messages/${ids[0]}`)).data;
  assert.equal(status, "pending");
  assert.ok(timeline.some(({ reason = "" }: { reason?: string }) => reason.startsWith("restored: ")));
});

test("health is degraded while messages are held, and a metric counts them", async (t) => {
  const { service } = await serviceWithHeld(t, 2);
  const key = service.adminKey;
  const health = async () =>
    (await (await fetch(`${service.url}/health`, { headers: { authorization: `Bearer ${key}` } })).json()) as Health;
  const metrics = async () => await (await fetch(`${service.url}/metrics`)).text();
  const { checks } = await health();
  assert.equal(checks.held?.status, "degraded");
  assert.match(checks.held?.message ?? "", /^2 messages are held after a restore.*tightbeam held$/);
  assert.match(await metrics(), /^tightbeam_held_messages 2$/m);
  await service.ask("POST", "/v1/admin/held/discard", { body: { all: true }, key });
  assert.equal((await health()).checks.held, undefined);
  assert.match(await metrics(), /^tightbeam_held_messages 0$/m);
});

test("only an admin key sees and decides about held messages, and it names some or all", async (t) => {
  const { service, ids } = await serviceWithHeld(t, 2);
  assert.equal((await service.ask("GET", "/v1/admin/held")).status, 403);
  assert.equal((await service.ask("POST", "/v1/admin/held/release", { body: { all: true } })).status, 403);
  const decide = (choice: string, body: object) =>
    service.ask("POST", `/v1/admin/held/${choice}`, { body, key: service.adminKey });
  for (const body of [{}, { ids, all: true }, { ids: [] }, { all: false }]) {
    assert.equal((await decide("release", body)).error?.code, "VALIDATION_ERROR", JSON.stringify(body));
  }
  const released = await decide("release", { ids: [ids[0], "msg_none"] });
  assert.deepEqual(released.data, { count: 1, notHeld: ["msg_none"], hasMore: false });
  await until(async () => (await service.ask("GET", `/v1/messages/${ids[0]}`)).data.status === "delivered");
  assert.deepEqual((await decide("discard", { all: true })).data, { count: 1, notHeld: [], hasMore: false });
  const { status, errorCode } = (await service.ask("GET", `/v1/messages/${ids[1]}`)).data;
  assert.deepEqual([status, errorCode], ["failed", "OUTCOME_UNKNOWN"]);
  const retry = await service.ask("POST", `/v1/messages/${ids[1]}/retry`, { body: {} });
  assert.equal(retry.error?.code, "OUTCOME_UNKNOWN");
  assert.deepEqual((await decide("discard", { all: true })).data, { count: 0, notHeld: [], hasMore: false });
});

test("tightbeam held lists, releases and discards; about all of them it asks first", async (t) => {
  const { service, ids } = await serviceWithHeld(t, 3);
  const env = envFor(t, service);
  const listed = JSON.parse((await runCli(["held"], { env })).stdout);
  assert.deepEqual(
    listed.map(({ id }: { id: string }) => id),
    ids.toReversed(),
  );
  assert.equal((await runCli(["held", "release"], { env })).code, 2);
  assert.equal((await runCli(["held", "release", "--all"], { env })).code, 2);
  const refused = await runOnTerminal(["held", "discard", "--all"], env, async () => "n");
  assert.deepEqual([refused.code, refused.stderr], [1, "error: Nothing was changed.\n"]);
  const one = await runOnTerminal(["held", "release", ids[0] ?? ""], env);
  assert.deepEqual([one.code, one.stdout], [0, "1 message is sent again.\n"]);
  const again = await runCli(["held", "release", ids[0] ?? ""], { env });
  assert.deepEqual([again.code, again.stderr], [1, `error: Not held: ${ids[0]}\n`]);
  const rest = await runOnTerminal(["held", "discard", "--all"], env, async () => "y");
  assert.deepEqual([rest.code, rest.stdout], [0, "2 messages are ended as failed.\n"]);
  assert.equal((await runOnTerminal(["held"], env)).stdout, "Nothing is held.\n");
});
