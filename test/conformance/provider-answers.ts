/** The provider's suite: what contacts do of their own accord is told, all of it, and nothing of it twice. */

import assert from "node:assert/strict";
import type { Signal } from "../../server/providers/provider.ts";
import { acceptedReference, have, type Promises, quiet, run, send } from "./provider-stage.ts";

/** What a contact does with a message outlives the process, as receipts do. */
export function answers(promise: Promises): void {
  promise("what a contact does with a message is told after its receipts, each once", async (stage, t) => {
    const scenario = have(stage.harness.scenarios.answers, t);
    if (scenario === null) return;
    const life = await stage.live();
    const message = stage.message(scenario);
    acceptedReference(await send(stage, life, message));
    await stage.toldInTheEnd(life, message, scenario.receipts);
    assert.deepEqual(
      life.heard.map(({ kind }) => kind),
      scenario.answers,
    );
    assert.deepEqual(new Set(life.heard.map(({ to }) => to)), new Set([message.from]));
  });

  for (const side of ["before", "after"] as const) {
    promise(
      `a death ${side} any of it was taken in loses none of it, and what has no name is told once`,
      async (stage, t) => {
        const scenario = have(stage.harness.scenarios.answers, t);
        if (scenario === null) return;
        const before: Signal[] = [];
        for (let survived = 0; survived < scenario.answers.length; survived += 1) {
          const taken: Signal[] = [];
          const first = await stage.live();
          first.listen = async (signal) => {
            const isLast = signal.kind !== "receipt" && taken.length === survived;
            if (isLast && side === "before") first.die();
            if (first.dead) return;
            if (signal.kind !== "receipt") taken.push(signal);
            // What is taken in is on disk with what it ends, whether or not the one who told it lives to hear that.
            if (signal.forget !== undefined) stage.disk.entries.delete(signal.forget);
            if (isLast) first.die();
          };
          const message = stage.message(scenario);
          acceptedReference(await send(stage, first, message));
          await quiet(stage.harness);
          const second = await stage.live();
          await quiet(stage.harness);
          // What was told of the rounds before may be told again, under its name.
          const all = namedOnce([...before, ...taken, ...second.heard]).filter((signal) => !before.includes(signal));
          before.push(...all);
          const kinds = all.map(({ kind }) => kind);
          const lasting = (kind: string) => scenario.fleeting?.some((one) => one === kind) !== true;
          assert.deepEqual(kinds.filter(lasting), scenario.answers.filter(lasting), `after ${survived}`);
          assert.ok(kinds.length <= scenario.answers.length, `${kinds} after ${survived}`);
          await run(stage, second.provider.stop());
        }
      },
    );
  }
}

/** Signals without those whose name came before: what is told again under its name changes nothing. */
function namedOnce(signals: readonly Signal[]): Signal[] {
  const nameOf = (signal: Signal) =>
    "reference" in signal ? signal.reference : "callUuid" in signal ? `${signal.callUuid} ${signal.status}` : null;
  return signals.filter((signal, index) => {
    const name = nameOf(signal);
    return name === null || signals.findIndex((one) => nameOf(one) === name) === index;
  });
}
