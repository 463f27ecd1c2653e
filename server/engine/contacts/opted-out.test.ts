/** Opt-outs and sending, from a contact's keyword to the refusal, on the whole engine in simulated time. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type EngineStage, engineStage } from "../../../test/support/engine.ts";
import { inbound } from "../../../test/support/provider.ts";
import { ApiError } from "../../core/error.ts";
import type { GroupSnapshot } from "../../core/group.ts";
import type { FileFetcher } from "../../outgoing/fetch.ts";

const HOUR_MS = 3_600_000;
const PEER = "+15550100001";

/** Reports a message `text` of the contact. */
async function write(stage: EngineStage, text: string, group: GroupSnapshot | null = null): Promise<void> {
  writes += 1;
  await stage.report(inbound({ reference: `in-${writes}`, from: PEER, to: stage.number.address, text, group }));
}
let writes = 0;

const isRefused = (error: unknown) => error instanceof ApiError && error.code === "RECIPIENT_OPTED_OUT";

test("STOP ends messages from the number that received it, and START allows them again", async (t) => {
  const stage = await engineStage(t);
  await stage.send();
  await stage.run();
  await write(stage, "stop");
  await assert.rejects(stage.send(), isRefused);
  await stage.send({ to: "+15550100002" });
  await stage.restart();
  await assert.rejects(stage.send(), isRefused, "a new process knows as well");
  await write(stage, "Start");
  const id = await stage.send();
  await stage.run();
  assert.equal((await stage.message(id)).status, "sent");
});

test("a scheduled message is sent if the contact wrote START before it is due", async (t) => {
  const stage = await engineStage(t);
  const id = await stage.send({ scheduledAt: new Date(stage.clock.now() + HOUR_MS).toISOString() });
  await write(stage, "STOP");
  await write(stage, "START");
  await stage.pass(HOUR_MS);
  assert.equal((await stage.message(id)).status, "sent");
});

test("STOP that arrives while the files of a message are fetched prevents the send attempt", async (t) => {
  const bytes = Buffer.from("GIF89a\0\0");
  let fetched = () => {};
  const fetch: FileFetcher["fetch"] = () =>
    new Promise((resolve) => {
      fetched = () => resolve({ bytes, release() {} });
    });
  const stage = await engineStage(t, { deps: { fetcher: { fetch, hold: () => () => {} } } });
  const id = await stage.send({ content: { mediaUrls: ["https://example.com/a.gif"] } });
  await stage.run();
  await write(stage, "STOP");
  fetched();
  await stage.run();
  const { status, errorCode } = await stage.message(id);
  assert.deepEqual([status, errorCode, stage.provider.handed.length], ["failed", "RECIPIENT_OPTED_OUT", 0]);
});

test("a keyword in a message to a group opts nobody out", async (t) => {
  const stage = await engineStage(t);
  await write(stage, "STOP", { reference: "g-1", name: null, participants: [PEER, "+15550100002"] });
  await stage.send();
});
