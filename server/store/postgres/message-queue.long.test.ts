/** A long test of the queue of messages on PostgreSQL: eight stores race for 100,000 messages. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { NOW, Stage } from "../../../test/conformance/store-stage.ts";
import { addDueMessages, raceForMessages } from "../../../test/support/message-race.ts";
import { createDatabase, startPostgres } from "../../../test/support/postgres.ts";
import type { Store } from "../store.ts";
import { openPostgres } from "./store.ts";

const MESSAGES = 100_000;
const STORES = 8;

test("eight stores that race for 100,000 messages send each once, and those of a pair in order", {
  timeout: 1_200_000,
}, async (t) => {
  const server = await startPostgres(["fsync=off", "max_connections=200"]);
  const { url, drop } = await createDatabase(server);
  const stores: Store[] = [];
  t.after(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await drop();
    await server.stop();
  });
  for (let index = 0; index < STORES; index += 1) stores.push(await openPostgres(url, `member_${index}`));
  const [first] = stores;
  assert.ok(first !== undefined);
  const lane = await addDueMessages(new Stage(first), MESSAGES, 5_000);
  await raceForMessages(stores, lane, MESSAGES);
  assert.deepEqual(await first.dueLanes("messages", NOW), []);
});
