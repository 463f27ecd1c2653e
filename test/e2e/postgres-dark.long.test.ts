/** The network between the service and PostgreSQL goes dark for seconds: nothing arrives and nothing ends, and work goes on soon afterwards. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { systemClock } from "../../server/clock.ts";
import { DueLook } from "../../server/engine/due-look.ts";
import { openPostgres } from "../../server/store/postgres/store.ts";
import { StoreUnavailable } from "../../server/store/store.ts";
import { postgresForFile } from "../support/postgres.ts";
import { startRelay } from "../support/tcp-relay.ts";
import { until } from "../support/wait.ts";

const postgres = postgresForFile(["fsync=off"], async (url) => {
  await (await openPostgres(url, "member_0")).close();
});

/** Looks at both queues of a store behind a relay. */
async function openStage(t: TestContext) {
  const { url, drop } = await postgres.create();
  const address = new URL(url);
  const relay = await startRelay(Number(address.port));
  address.port = String(relay.port);
  const store = await openPostgres(address.href, "member_1");
  const faults: unknown[] = [];
  const pauses: number[] = [];
  const seen = { looks: 0 };
  const clock = systemClock({ ms: 0 });
  const looks = (["messages", "deliveries"] as const).map(
    (queue) =>
      new DueLook({
        clock: {
          ...clock,
          after(ms, action) {
            pauses.push(ms);
            return clock.after(ms, action);
          },
        },
        dueLanes: async () => (await store.dueLanes(queue, Date.now())).map(({ lane }) => lane),
        found: () => {
          seen.looks += 1;
        },
        fault: (error) => faults.push(error),
      }),
  );
  t.after(async () => {
    for (const look of looks) look.stop();
    relay.lighten();
    await store.close();
    await relay.stop();
    await drop();
  });
  for (const look of looks) look.start();
  return { looks, relay, faults, pauses, seen };
}

for (const darkMs of [3_000, 9_000])
  test(`after a connection was dark for ${darkMs} ms, each look was followed by another within 2 s, and within 500 ms if it failed`, async (t) => {
    const { looks, relay, faults, pauses, seen } = await openStage(t);
    await until(() => seen.looks >= 4, { what: "looks" });
    relay.darken();
    const startedAt = performance.now();
    pauses.length = 0;
    await until(() => performance.now() - startedAt >= darkMs, { what: "the darkness to pass", limitMs: 60_000 });
    if (darkMs > 5_000)
      await until(() => looks.every((look) => look.lagMs() >= 5_000), { what: "the lag of both loops" });
    const failed = faults.length;
    assert.ok(failed >= 1, "a look fails while its connection is dark");
    assert.ok(faults.every((error) => error instanceof StoreUnavailable));
    relay.lighten();
    const looked = seen.looks;
    await until(() => seen.looks >= looked + 4 && looks.every((look) => look.lagMs() === 0), {
      what: "looks after it",
    });
    assert.ok(pauses.length >= failed);
    assert.ok(
      pauses.every((ms) => ms <= 2_000),
      `${pauses}`,
    );
    assert.ok(pauses.filter((ms) => ms === 500).length >= failed, `${pauses}`);
  });
