/** The provider suite: the written forms of one phone. */

import assert from "node:assert/strict";
import { threadKey } from "../../server/core/chat.ts";
import { acceptedReference, LIMIT_MS, type Promises, run, send } from "./provider-stage.ts";

/** The present and the former form of one phone of Argentina. */
const FORMS = ["+5491155501000", "+541155501000"] as const;

export function forms(promise: Promises): void {
  promise(
    "a contact's message in either form joins the same thread, and an answer goes to the form that wrote",
    async (stage) => {
      const { peer } = stage.harness;
      const life = await stage.live();
      const own = stage.message({ to: "", channel: "sms" });
      const inbound = () => life.otherSignals.filter((signal) => signal.kind === "inbound");
      const threads = new Set<string>();
      for (const [index, form] of FORMS.entries()) {
        await run(stage, peer.writesFrom(form, `Hello from ${form}`));
        assert.ok(await stage.harness.advanceUntil(() => inbound().length > index, LIMIT_MS), "it was not reported");
        const signal = inbound().at(-1) ?? assert.fail("it was not reported");
        assert.deepEqual([signal.from, signal.text], [form, `Hello from ${form}`]);
        threads.add(threadKey(own.customerId, signal.to, signal.from));
        const answer = stage.message({ to: signal.from, channel: signal.channel });
        acceptedReference(await send(stage, life, answer));
        assert.equal(stage.harness.taken(answer), 1);
        if (peer.lastRecipient !== null) assert.equal(peer.lastRecipient(), form);
      }
      assert.equal(threads.size, 1);
    },
  );
}
