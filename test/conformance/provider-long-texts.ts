/** The provider suite: texts that are longer than the service stores. */

import assert from "node:assert/strict";
import { boundedSignal } from "../../server/engine/bounded-signal.ts";
import { able } from "./provider-people.ts";
import { LIMIT_MS, type Promises, run } from "./provider-stage.ts";

/** The provider reports the whole text, so that the engine cuts it and says so. */
export function longTexts(promise: Promises): void {
  promise("a contact's text of more than 64 KiB arrives cut at a character, and says so", async (stage, t) => {
    const writes = able(stage, "writes", t);
    if (writes === null || able(stage, "longTexts", t) === null) return;
    const life = await stage.live();
    await run(stage, writes(`a${"€".repeat(30_000)}`, []));
    const inbound = () => life.otherSignals.find(({ kind }) => kind === "inbound");
    await stage.harness.advanceUntil(() => inbound() !== undefined, LIMIT_MS);
    const reported = inbound();
    assert.ok(reported !== undefined);
    const cut = boundedSignal(reported);
    assert.ok("text" in cut && "textTruncated" in cut);
    assert.ok(cut.text === `a${"€".repeat(21_845)}`);
  });
}
