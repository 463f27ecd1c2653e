/** The provider suite: signals that a contact causes after a delivery are all reported, each once. */

import assert from "node:assert/strict";
import type { Signal } from "../../server/providers/provider.ts";
import { acceptedReference, have, type Promises, quiet, run, send } from "./provider-stage.ts";

/** A contact's reaction to a message outlives the process, as receipts do. */
export function answers(promise: Promises): void {
  promise("a contact's reaction to a message is reported after its receipts, each signal once", async (stage, t) => {
    const scenario = have(stage.harness.scenarios.answers, t);
    if (scenario === null) return;
    const life = await stage.live();
    const message = stage.message(scenario);
    acceptedReference(await send(stage, life, message));
    await stage.expectReceipts(life, message, scenario.receipts);
    assert.deepEqual(
      life.otherSignals.map(({ kind }) => kind),
      scenario.answers,
    );
    assert.deepEqual(new Set(life.otherSignals.map(({ to }) => to)), new Set([message.from]));
  });

  for (const side of ["before", "after"] as const) {
    promise(
      `a death ${side} a signal is accepted loses none, and a signal without a reference is reported once`,
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
            // An accepted signal is on disk together with the change it ends, even if the provider dies before it
            // learns of that.
            if (signal.forget !== undefined) stage.disk.entries.delete(signal.forget);
            if (isLast) first.die();
          };
          const message = stage.message(scenario);
          acceptedReference(await send(stage, first, message));
          await quiet(stage.harness);
          const second = await stage.live();
          await quiet(stage.harness);
          // Signals of earlier rounds may be reported again, with the same reference.
          const all = namedOnce([...before, ...taken, ...second.otherSignals]).filter(
            (signal) => !before.includes(signal),
          );
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

/** Drops signals whose reference came before: a repetition changes nothing. */
function namedOnce(signals: readonly Signal[]): Signal[] {
  const nameOf = (signal: Signal) =>
    "reference" in signal ? signal.reference : "callUuid" in signal ? `${signal.callUuid} ${signal.status}` : null;
  return signals.filter((signal, index) => {
    const name = nameOf(signal);
    return name === null || signals.findIndex((one) => nameOf(one) === name) === index;
  });
}
