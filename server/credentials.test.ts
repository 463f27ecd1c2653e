/** Tests of the credentials file: its exact form, its mode, and the refusal of an invalid file. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { ConfigError } from "./config.ts";
import { readCredentials, writeCredentials } from "./credentials.ts";

const BASE_URL = "http://127.0.0.1:8080";

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "tightbeam-"));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

test("credentials are kept with mode 0600 as {baseUrl, apiKey, adminKey}", (t) => {
  const dir = directory(t);
  const credentials = { baseUrl: BASE_URL, apiKey: "tb_a", adminKey: "tb_b" };
  writeCredentials(dir, credentials);
  const path = join(dir, "credentials.json");
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(JSON.parse(readFileSync(path, "utf8")), credentials);
  assert.deepEqual(readCredentials(dir), credentials);
});

test("credentials.json omits a key that is set by a setting", (t) => {
  const dir = directory(t);
  writeCredentials(dir, { baseUrl: BASE_URL, adminKey: "tb_b" });
  assert.deepEqual(JSON.parse(readFileSync(join(dir, "credentials.json"), "utf8")), {
    baseUrl: BASE_URL,
    adminKey: "tb_b",
  });
  assert.deepEqual(readCredentials(dir), { baseUrl: BASE_URL, adminKey: "tb_b" });
});

test("writing credentials again replaces the whole file", (t) => {
  const dir = directory(t);
  writeCredentials(dir, { baseUrl: BASE_URL, apiKey: "tb_a" });
  writeCredentials(dir, { baseUrl: "http://127.0.0.1:9000" });
  assert.deepEqual(readCredentials(dir), { baseUrl: "http://127.0.0.1:9000" });
});

test("a data directory without the file has no credentials", (t) => {
  assert.equal(readCredentials(directory(t)), null);
  assert.equal(readCredentials(join(directory(t), "missing")), null);
});

test("a file that is not a credentials file is refused with one line that names it", (t) => {
  const dir = directory(t);
  for (const text of ["", "null", "[]", "{}", '{"baseUrl":1}', `{"baseUrl":"${BASE_URL}","apiKey":1}`, "{"]) {
    writeFileSync(join(dir, "credentials.json"), text);
    assert.throws(
      () => readCredentials(dir),
      (error) => error instanceof ConfigError && /credentials\.json is not a credentials file/.test(error.message),
      text,
    );
  }
});
