/** Tests of the generated keys in the credentials file: the file follows their rotation and revocation. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openContext } from "../../test/support/sending.ts";
import { readCredentials, writeCredentials } from "../credentials.ts";
import { revokeKey, rotateKey } from "../engine/customers/keys.ts";
import { createLog } from "../log.ts";
import { followKey } from "./generated-keys.ts";

test("after keys rotate, credentials.json holds the new key, mode 0600; after a revocation the key is removed; other keys stay", async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), "tightbeam-"));
  t.after(() => rmSync(dataDir, { recursive: true }));
  const log = createLog("error", { write: () => {} });
  const keyChanged = (hash: string, key: string | null) => followKey(dataDir, log, hash, key);
  const made = await openContext(t, { deps: { keyChanged } });
  const { deps, apiKey, key } = made;
  const rotate = async (id: string) =>
    await rotateKey(deps, id, { idempotencyKey: id, body: { gracePeriodSeconds: 0 } });
  const baseUrl = "http://127.0.0.1:8080";
  const adminKey = "tb_admin";
  writeCredentials(dataDir, { baseUrl, apiKey: key, adminKey });
  const other = await made.addTenant("Other");
  await rotate(other.apiKey.id);
  assert.equal(readCredentials(dataDir)?.apiKey, key, "a key that the file does not hold changes nothing");
  const rotated = await rotate(apiKey.id);
  assert.ok(rotated.key !== undefined);
  assert.deepEqual(readCredentials(dataDir), { baseUrl, apiKey: rotated.key, adminKey });
  assert.equal(statSync(join(dataDir, "credentials.json")).mode & 0o777, 0o600);
  assert.equal((await rotate(apiKey.id)).key, undefined, "a repeat of the request has no key");
  assert.deepEqual(readCredentials(dataDir), { baseUrl, apiKey: rotated.key, adminKey });
  await revokeKey(deps, apiKey.id);
  assert.deepEqual(readCredentials(dataDir), { baseUrl, apiKey: rotated.key, adminKey });
  await revokeKey(deps, rotated.apiKey.id);
  assert.deepEqual(readCredentials(dataDir), { baseUrl, adminKey });
});
