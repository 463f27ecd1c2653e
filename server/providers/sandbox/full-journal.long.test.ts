/** The sandbox with more pending signals than it keeps. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { message, NEVER, stage } from "../../../test/support/sandbox-provider.ts";
import type { MessageId } from "../../core/id.ts";
import type { Outbound } from "../provider.ts";

test("with pending signals of 100,000 messages a further message is deferred, until some are reported", async () => {
  const { clock, sandbox } = await stage();
  const outcomes = new Map<string, number>();
  for (let index = 0; index < 100_010; index += 1) {
    const messageId: MessageId = `msg_01890000-0000-7000-8000-${String(index).padStart(12, "0")}`;
    const { outcome } = await sandbox.send({ ...message("0107"), messageId }, NEVER);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
  assert.deepEqual(
    [...outcomes],
    [
      ["unknown", 100_000],
      ["deferred", 10],
    ],
  );
  const first: Outbound = { ...message("0107"), messageId: "msg_01890000-0000-7000-8000-000000000000" };
  await sandbox.reconcile?.(first);
  await clock.advance(1_000);
  assert.equal((await sandbox.send(message("0100"), NEVER)).outcome, "accepted");
  await sandbox.stop();
});
