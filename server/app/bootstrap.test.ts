/** Tests of processes that start at the same time on one database. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { testContext } from "../../test/support/context.ts";
import { readConfig } from "../config.ts";
import { hashKey } from "../core/key.ts";
import { findKeyByHash } from "../store/keys.ts";
import { bootstrap } from "./bootstrap.ts";

test("processes that start at once with one key in their settings share the first customer and the key", async (t) => {
  const { deps, close } = await testContext();
  t.after(close);
  const [TB_API_KEY, TB_ADMIN_KEY] = [`tb_${"a".repeat(48)}`, `tb_${"b".repeat(48)}`];
  const start = () => bootstrap(deps, readConfig({ TB_API_KEY, TB_ADMIN_KEY }), "fingerprint");
  const started = await Promise.all([start(), start(), start()]);
  assert.deepEqual(started.map(({ isFirst }) => isFirst).toSorted(), [false, false, true]);
  for (const key of [TB_API_KEY, TB_ADMIN_KEY])
    assert.equal((await findKeyByHash(deps.store.db, hashKey(key)))?.revokedAt, null);
  const [changed] = await Promise.all(
    [1, 2].map(() => bootstrap(deps, readConfig({ TB_API_KEY: `${TB_API_KEY}c` }), "fingerprint")),
  );
  assert.equal(changed?.isFirst, false);
  assert.equal((await findKeyByHash(deps.store.db, hashKey(`${TB_API_KEY}c`)))?.revokedAt, null);
  assert.notEqual(
    (await findKeyByHash(deps.store.db, hashKey(TB_API_KEY)))?.revokedAt,
    null,
    "the former key is revoked",
  );
});
