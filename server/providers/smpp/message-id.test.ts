import assert from "node:assert/strict";
import { test } from "node:test";
import { type MessageIdBase, receiptId, responseId } from "./message-id.ts";

test("the ids of a response and of its receipt are equal, however the SMSC writes each", () => {
  const pairs: [MessageIdBase, string, string][] = [
    ["same", "4f2a", "4F2A"],
    ["same", "0000123", "123"],
    ["same", "123", "0000123"],
    ["same", "1234\0", "1234"],
    ["same", " 77 ", "77"],
    ["same", "7C9E6679-7425-40DE-944B-E07FC1F90AE7", "7c9e6679-7425-40de-944b-e07fc1f90ae7"],
    ["hexThenDecimal", "00000FF0", "4080"],
    ["hexThenDecimal", "FFFFFFFFFFFFFFFF", "18446744073709551615"],
    ["decimalThenHex", "4080", "0FF0"],
    ["decimalThenHex", "0004080", "ff0"],
  ];
  for (const [base, response, receipt] of pairs) {
    assert.notEqual(responseId(response, base), null);
    assert.equal(responseId(response, base), receiptId(receipt, base), `${base} ${response} ${receipt}`);
  }
});

test("different ids stay different: letters outside hexadecimal keep their case", () => {
  assert.notEqual(responseId("aZ", "same"), responseId("az", "same"));
  assert.notEqual(responseId("10", "same"), responseId("100", "same"));
  assert.equal(responseId("0", "same"), "0");
  assert.equal(responseId("abc", "hexThenDecimal"), "2748");
});

test("a signed integer and the unsigned one with the same bits are one id, also across bases", () => {
  assert.equal(receiptId("-123", "same"), responseId("4294967173", "same"));
  assert.equal(receiptId("-2147483648", "same"), responseId("2147483648", "same"));
  assert.equal(receiptId("-2147483649", "same"), responseId("18446744071562067967", "same"));
  assert.equal(receiptId("-123", "hexThenDecimal"), responseId("FFFFFF85", "hexThenDecimal"));
  assert.equal(receiptId("FFFFFF85", "decimalThenHex"), responseId("-123", "decimalThenHex"));
  assert.equal(receiptId("-99999999999999999999", "same"), "-99999999999999999999");
});

test("an id that identifies nothing is null, and so is one that looks like our own", () => {
  for (const id of ["", " ", "\0", "msg_id_not_implemented", "tb:1", "in:1"]) {
    assert.equal(responseId(id, "same"), null);
    assert.equal(receiptId(id, "hexThenDecimal"), null);
  }
});
