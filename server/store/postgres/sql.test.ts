/** Tests of how errors of PostgreSQL and of its connections are told apart. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { failureOf, type SqlFailure } from "./sql.ts";

const FAILURES: Readonly<Record<SqlFailure, readonly string[]>> = {
  full: ["53100", "53200"],
  interrupted: ["40001", "40P01", "25P03"],
  unavailable: [
    ...["08006", "25006", "53300", "57P01", "57P03"],
    ...["ECONNRESET", "EPIPE", "ENOTFOUND", "EAI_AGAIN"],
    ...["ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC", "ERR_TLS_CERT_ALTNAME_INVALID", "CERT_HAS_EXPIRED"],
  ],
  failed: ["23505", "22P05", "57014", "ERR_INVALID_ARG_TYPE"],
};

test("an error says by its code why a statement failed", () => {
  for (const [failure, codes] of Object.entries(FAILURES))
    for (const code of codes) assert.equal(failureOf(Object.assign(new Error("it failed"), { code })), failure, code);
});

test("an error without a code is one of the connection if its text says so", () => {
  for (const message of ["Connection terminated unexpectedly", "Query read timeout", "timeout expired"])
    assert.equal(failureOf(new Error(message)), "unavailable", message);
  assert.equal(failureOf(new TypeError("it has no such member")), "failed");
});
