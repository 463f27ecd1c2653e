/** The provider suite: messages of which a part was sent separately. */

import assert from "node:assert/strict";
import type { OutboundAttachment } from "../../server/providers/provider.ts";
import { acceptedReference, have, type Promises, reconcile, send } from "./provider-stage.ts";

const FILE: OutboundAttachment = {
  mimeType: "image/png",
  filename: "dot.png",
  bytes: new Uint8Array([137, 80, 78, 71]),
  isAudioMessage: false,
};

/** A sent part is reported with the outcome, and is never sent again by a later attempt. */
export function parts(promise: Promises): void {
  for (const isLost of [false, true]) {
    const by = isLost ? "that finds out about it, since its outcome was lost" : "that is told of it";
    promise(`a sent part is not sent again, by the next process ${by}`, async (stage, t) => {
      const scenario = have(stage.harness.scenarios.partly, t);
      if (scenario === null) return;
      const first = await stage.live();
      first.losesOutcomes = isLost;
      const message = { ...stage.message(scenario), attachments: [FILE] };
      const outcome = await send(stage, first, message);
      assert.ok(outcome.outcome === "partly", `answered ${outcome.outcome}`);
      assert.match(outcome.part.reference, /./);
      assert.match(outcome.part.what, /^[a-z]/);
      assert.equal(outcome.rest.outcome, "rejected");
      assert.equal(stage.harness.taken(message), 1);
      first.die();
      const second = await stage.live();
      const told = stage.disk.attempts.sentPart(message);
      assert.equal(told === null, isLost);
      const reconciled = await reconcile(stage, second, { ...message, sentPart: told });
      assert.ok(
        reconciled !== undefined && reconciled !== "absent" && reconciled.outcome === "partly",
        "asking says the same",
      );
      assert.deepEqual(reconciled.part, outcome.part);
      scenario.mends();
      const sentPart = stage.disk.attempts.sentPart(message);
      assert.deepEqual(sentPart, outcome.part);
      const reference = acceptedReference(await send(stage, second, { ...message, attempt: 2, sentPart }));
      assert.notEqual(reference, outcome.part.reference);
      assert.equal(stage.harness.taken(message), 1);
    });
  }
}
