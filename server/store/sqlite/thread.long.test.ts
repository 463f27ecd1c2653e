/**
 * The embedded store under the store's conformance suite as the service runs it, in threads, and in memory as tests do.
 */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storeConformance } from "../../../test/conformance/store.ts";
import { openSqlite, openSqliteInProcess } from "./store.ts";

storeConformance("SQLite in threads", async () => {
  const path = mkdtempSync(join(tmpdir(), "tightbeam-store-"));
  const lost: string[] = [];
  const open = () => openSqlite(path, (reason) => void lost.push(reason));
  return {
    store: await open(),
    reopen: open,
    async remove() {
      rmSync(path, { recursive: true });
      assert.deepEqual(lost, []);
    },
  };
});

storeConformance("SQLite in memory", async () => ({ store: await openSqliteInProcess(), remove: async () => {} }));
