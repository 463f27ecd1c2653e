/** Tests of which of our addresses something came to. */

import assert from "node:assert/strict";
import { it } from "node:test";
import type { OwnAddress } from "../provider.ts";
import { ownAddress } from "./own-address.ts";

const ONE: OwnAddress = { address: "+15550000001", customerId: "cust_1", isDefault: false };
const MAIL: OwnAddress = { address: "me@example.com", customerId: "cust_1", isDefault: true };
const OTHERS: OwnAddress = { address: "+15550000002", customerId: "cust_2", isDefault: true };

async function at(own: readonly OwnAddress[], named: string | null): Promise<string | null> {
  return ownAddress({ numbers: async () => own }, named);
}

it("is the one that the Mac names, in any spelling", async () => {
  for (const named of ["me@example.com", "Me@Example.com", "E:me@example.com", "e:ME@example.com"]) {
    assert.equal(await at([ONE, MAIL, OTHERS], named), MAIL.address, named);
  }
  assert.equal(await at([ONE, MAIL, OTHERS], "P:+15550000002"), OTHERS.address);
});

it("is the default of the only customer if the Mac names no known number", async () => {
  assert.equal(await at([ONE, MAIL], null), MAIL.address);
  assert.equal(await at([ONE, MAIL], "+15550000099"), MAIL.address);
  assert.equal(await at([ONE], null), ONE.address);
});

it("is null if the customer is ambiguous, or there is no number", async () => {
  assert.equal(await at([ONE, OTHERS], null), null);
  assert.equal(await at([ONE, OTHERS], "+15550000099"), null);
  assert.equal(await at([], "+15550000001"), null);
});
