/** A provider hears that its outcome is on disk although the reply to the commit was lost, and the lease has ended. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ScriptedProvider } from "../../../test/support/provider.ts";
import { openContext, send, TO } from "../../../test/support/sending.ts";
import { until } from "../../../test/support/wait.ts";
import { findMessage } from "../../store/messages.ts";
import { type Store, StoreUnavailable } from "../../store/store.ts";
import type { EngineDeps } from "../engine-deps.ts";
import { conclude } from "./conclude.ts";

for (const isWritten of [true, false]) {
  const what = isWritten
    ? "was written, without a reply, is reported to its provider"
    : "was not written is not reported";
  test(`an outcome that ${what} after the lease`, async (t) => {
    const made = await openContext(t);
    const { clock, instance, providers } = made;
    const provider = new ScriptedProvider();
    providers.set(instance.id, provider);
    const { id } = await send(made, { to: TO });
    const queued = await findMessage(made.deps.store.db, id);
    assert.ok(queued !== null);
    const attempted = {
      ...queued,
      status: "pending",
      sendAttempts: 1,
      dueAt: null,
      version: queued.version + 1,
    } as const;
    const { version, status, sendAttempts, dueAt } = attempted;
    await made.deps.store.commit([
      { op: "update", table: "messages", id, version: version - 1, set: { status, sendAttempts, dueAt } },
    ]);
    const store: Store = Object.create(made.deps.store, {
      commitGathered: {
        value: async (transaction: Parameters<Store["commitGathered"]>[0]) => {
          if (isWritten) await made.deps.store.commitGathered(transaction);
          throw new StoreUnavailable("the connection was lost");
        },
      },
    });
    let count = 0;
    const stored = () => {
      count += 1;
    };
    let read = 0;
    Object.defineProperty(store, "db", {
      get: () => {
        read += 1;
        return made.deps.store.db;
      },
    });
    const deps: EngineDeps = { ...made.deps, store };
    const memory = { entries: [{ key: "owed/1", value: "{}" }], stored };
    const outcome = { outcome: "accepted", reference: "ref-1", memory } as const;
    await assert.rejects(conclude(deps, provider, attempted, outcome, clock.monotonic()), StoreUnavailable);
    if (isWritten) await until(() => count === 1, { what: "the report" });
    else await until(() => read > 0, { what: "the read of the message" });
    assert.equal((await findMessage(made.deps.store.db, id))?.status, isWritten ? "sent" : "pending");
    assert.equal(count, isWritten ? 1 : 0);
  });
}
