import assert from "node:assert/strict";
import { test } from "node:test";
import { canBeBetween, incomingAddress, lastDigits, outgoingAddress, ownAddress } from "./address.ts";

const AS_IT_IS = { ton: null, npi: null };

test("a number is sent without its plus as international, a short code as network specific, a name as alphanumeric", () => {
  assert.deepEqual(outgoingAddress("+15550000001", AS_IT_IS), { ton: 1, npi: 1, address: "15550000001" });
  assert.deepEqual(outgoingAddress("12345", AS_IT_IS), { ton: 3, npi: 0, address: "12345" });
  assert.deepEqual(outgoingAddress("Tightbeam", AS_IT_IS), { ton: 5, npi: 0, address: "Tightbeam" });
  assert.deepEqual(outgoingAddress("+15550000001", { ton: 0, npi: 8 }), { ton: 0, npi: 8, address: "15550000001" });
});

test("every spelling of a number becomes E.164", () => {
  const cases: [number, string, string | null, string][] = [
    [1, "15550100001", null, "+15550100001"],
    [2, "+15550100001", null, "+15550100001"],
    [3, "4915550100001", null, "+4915550100001"],
    [0, "0015550100001", null, "+15550100001"],
    [0, "15550100001", "1", "+15550100001"],
    [0, "5550100001", "1", "+15550100001"],
    [2, "5550100001", "1", "+15550100001"],
    [4, "15550100001", "49", "+4915550100001"],
    [0, "07700900123", "44", "+447700900123"],
    [2, "07700900123", "44", "+447700900123"],
    [3, "447700900123", "44", "+447700900123"],
    [0, "447700900123", "1", "+447700900123"],
    [1, "447700900123", "1", "+447700900123"],
    [0, "+1 (555) 010-0001", null, "+15550100001"],
  ];
  for (const [ton, address, country, expected] of cases) {
    assert.equal(incomingAddress({ ton, npi: 1, address }, country), expected, `${ton} ${address} ${country}`);
  }
});

test("an address that is no number stays unchanged", () => {
  for (const [ton, address] of [
    [5, "MyBank"],
    [0, "MyBank"],
    [3, "12345"],
    [6, "80888"],
    [0, "0123"],
    [0, ""],
  ] as const) {
    assert.equal(incomingAddress({ ton, npi: 0, address }, "1"), address);
  }
});

test("our own address is found by its digits, or by its last digits if only one address ends with them", () => {
  const own = ["+15550000001", "+15550000002", "+442075550001"];
  assert.equal(ownAddress("+15550000001", own), "+15550000001");
  assert.equal(ownAddress("15550000001", own), "+15550000001");
  assert.equal(ownAddress("5550000002", own), "+15550000002");
  assert.equal(ownAddress("02075550001", own), "+442075550001");
  assert.equal(ownAddress("1", own), null);
  assert.equal(ownAddress("+15559999999", own), null);
  assert.equal(ownAddress("75550001", [...own, "+12075550001"]), null);
});

test("a receipt may belong to a message to its number, or to any message if it has only our own number", () => {
  const ends = { from: lastDigits("+15550000001"), to: lastDigits("+15550100001") };
  for (const written of ["15550100001", "+15550100001", "005550100001", "5550100001"]) {
    assert.equal(canBeBetween([lastDigits(written), ends.from], ends), true, written);
  }
  for (const none of ["", "12345", "ACME", "155501xxxx1"]) assert.equal(lastDigits(none), "", none);
  assert.deepEqual([canBeBetween([], ends), canBeBetween([ends.from], ends)], [true, true]);
  assert.deepEqual([canBeBetween([lastDigits("15550100002"), ends.from], ends)], [false]);
  assert.equal(canBeBetween([lastDigits("15550100002")], { from: "", to: "" }), true, "nothing is known of it");
});
