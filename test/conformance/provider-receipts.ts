/** The provider suite: receipts that come early, late, twice, in reverse order, and for unknown messages. */

import assert from "node:assert/strict";
import { able } from "./provider-people.ts";
import { acceptedReference, have, LIMIT_MS, type Promises, quiet, run, send } from "./provider-stage.ts";

export function oddReceipts(promise: Promises): void {
  promise(
    "receipts that come before the response to a send are reported once the message is known",
    async (stage, t) => {
      const scenario = have(stage.harness.scenarios.early, t);
      if (scenario === null) return;
      const life = await stage.live();
      const message = stage.message(scenario);
      acceptedReference(await send(stage, life, message));
      await stage.expectReceipts(life, message, scenario.receipts);
      assert.equal(stage.harness.taken(message), 1);
    },
  );

  promise(
    "a receipt for a message that is not stored yet is reported again, until all are applied",
    async (stage, t) => {
      const scenario = have(stage.harness.scenarios.delivers, t);
      if (scenario === null || able(stage, "tellsUnknownAgain", t) === null) return;
      const life = await stage.live();
      let refused = 0;
      life.knows = () => {
        refused += 1;
        return refused > 2;
      };
      const message = stage.message(scenario);
      acceptedReference(await send(stage, life, message));
      await stage.expectReceipts(life, message, scenario.receipts);
      assert.ok(refused > 2);
    },
  );

  promise("a receipt for an unknown message does not block others", async (stage, t) => {
    const scenario = have(stage.harness.scenarios.delivers, t);
    const { strayReceipt } = stage.harness;
    if (scenario === null) return;
    if (typeof strayReceipt !== "function") return t.skip(strayReceipt.skip);
    const life = await stage.live();
    await run(stage, strayReceipt());
    await quiet(stage.harness);
    const message = stage.message(scenario);
    acceptedReference(await send(stage, life, message));
    await stage.expectReceipts(life, message, scenario.receipts);
    assert.ok(life.reported.every(({ reference }) => stage.disk.references.has(reference)));
  });

  promise(
    "receipts that come late, twice and in reverse order are reported for the right message",
    async (stage, t) => {
      const scenario = have(stage.harness.scenarios.delivers, t);
      const confirms = able(stage, "confirms", t);
      if (scenario === null || confirms === null) return;
      const life = await stage.live();
      const message = stage.message(scenario);
      const reference = acceptedReference(await send(stage, life, message));
      await stage.expectReceipts(life, message, scenario.receipts);
      const { quietMs, lateMs = 10 * quietMs } = stage.harness;
      await stage.harness.advanceUntil(() => false, lateMs);
      for (const receipt of ["read", "delivered", "read"] as const)
        await run(stage, confirms(message, reference, receipt));
      await stage.harness.advanceUntil(() => life.receipts(message).includes("read"), LIMIT_MS);
      await quiet(stage.harness);
      assert.ok(life.receipts(message).includes("read"), "the late receipt was not told");
      assert.ok(life.reported.every((signal) => signal.reference === reference));
      assert.equal(stage.harness.taken(message), 1);
    },
  );
}
