/** Tests that processes on one database share the windows of rate limits. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createDatabase, type PostgresServer, sharedPostgres } from "../../../test/support/postgres.ts";
import { until } from "../../../test/support/wait.ts";
import type { KeyId } from "../../core/id.ts";
import type { Store } from "../store.ts";
import { openPostgres } from "./store.ts";

const KEY = "key_1" as KeyId;

let server: PostgresServer;
let url: string;
let drop: () => Promise<void>;
const stores: Store[] = [];
before(async () => {
  server = await sharedPostgres();
  ({ url, drop } = await createDatabase(server));
  for (const member of ["a", "b", "c"]) stores.push(await openPostgres(url, member));
});
after(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await drop();
  await server.stop();
});

test("processes that take at once get no more than the window has together", async () => {
  const take = { bucket: KEY, wanted: 7, takenMax: 100, windowMs: 60_000 };
  const takes = Array.from({ length: 60 }, (_, index) => stores[index % stores.length]?.shared?.takeRate(take));
  const taken = await Promise.all(takes);
  assert.equal(
    taken.reduce((sum, one) => sum + (one?.given ?? 0), 0),
    100,
  );
  assert.ok(
    taken.some((one) => one?.given === 2),
    "the last one gets the rest",
  );
  for (const one of taken) assert.ok(one !== undefined && one.endsInMs > 0 && one.endsInMs <= 60_000);
});

test("a window that has ended opens anew for every process", async () => {
  const take = { bucket: "key_2" as KeyId, wanted: 5, takenMax: 5, windowMs: 150 };
  assert.equal((await stores[0]?.shared?.takeRate(take))?.given, 5);
  assert.equal((await stores[1]?.shared?.takeRate(take))?.given, 0);
  await until(async () => (await stores[1]?.shared?.takeRate(take))?.given === 5);
});

test("a window opens anew if its key has a shorter one now, or the clock of the server was set back", async () => {
  const take = { bucket: "key_3" as KeyId, wanted: 5, takenMax: 5, windowMs: 86_400_000 };
  assert.equal((await stores[0]?.shared?.takeRate(take))?.given, 5);
  assert.equal((await stores[1]?.shared?.takeRate(take))?.given, 0);
  const taken = await stores[1]?.shared?.takeRate({ ...take, windowMs: 60_000 });
  assert.deepEqual([taken?.given, taken !== undefined && taken.endsInMs <= 60_000], [5, true]);
});
