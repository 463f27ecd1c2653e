/** Tests of time zones: what a number tells of where its phone is, and which zones then count. */

import assert from "node:assert/strict";
import test from "node:test";
import { parsePhoneNumberFromString } from "libphonenumber-js/max";
import { AREA_CODES, zonesOfAreaCode } from "./area-codes.ts";
import { isTimeZone, minuteOfDay, zonesOf, zonesThatCount } from "./time-zone.ts";

test("a number of a country with one time zone is in that zone", () => {
  for (const [number, zone] of [
    ["+442071838750", "Europe/London"],
    ["+33612345678", "Europe/Paris"],
    ["+81312345678", "Asia/Tokyo"],
    ["+919876543210", "Asia/Kolkata"],
    ["+18095550123", "America/Santo_Domingo"],
    ["+12425550123", "America/Toronto"],
    ["+38349123456", "Europe/Belgrade"],
  ] as const) {
    assert.deepEqual(zonesOf(number), [zone], number);
  }
});

test("a North American area code has one time zone, or the two that it spans", () => {
  for (const [number, ...zones] of [
    ["+12125550123", "America/New_York"],
    ["+13125550123", "America/Chicago"],
    ["+13035550123", "America/Denver"],
    ["+12135550123", "America/Los_Angeles"],
    ["+16025550123", "America/Phoenix"],
    ["+18085550123", "Pacific/Honolulu"],
    ["+18505550123", "America/New_York", "America/Chicago"],
    ["+12085550123", "America/Denver", "America/Los_Angeles"],
    ["+14165550123", "America/Toronto"],
    ["+16045550123", "America/Vancouver"],
    ["+17095550123", "America/St_Johns", "America/Goose_Bay"],
  ]) {
    assert.deepEqual(zonesOf(number ?? ""), zones, number ?? "");
  }
});

test("every area code of the table is one of the United States or Canada, occurs once, and has existing zones", () => {
  assert.equal(new Set(AREA_CODES.map(([code]) => code)).size, AREA_CODES.length);
  const CANADIAN = /Toronto|Vancouver|Edmonton|Winnipeg|Halifax|St_Johns|Moncton|Regina|Whitehorse/;
  let matched = 0;
  for (const [code, zones] of AREA_CODES) {
    assert.match(code, /^[2-9]\d\d$/);
    assert.ok(zones.length > 0 && zones.every((zone) => isTimeZone(zone)), `${code}: ${zones}`);
    const country = parsePhoneNumberFromString(`+1${code}5550123`)?.country;
    if (country === undefined) continue;
    matched += 1;
    assert.equal(zones.some((zone) => CANADIAN.test(zone)) ? "CA" : "US", country, code);
  }
  assert.ok(matched > 380, `${matched} codes are known to the other table`);
  assert.equal(zonesOfAreaCode("500"), null);
  assert.equal(zonesOfAreaCode(""), null);
});

test("a number without a regional prefix may be in any time zone of its country", () => {
  const sandbox = zonesOf("+15005550100");
  for (const zone of ["America/New_York", "America/Chicago", "America/Los_Angeles", "Pacific/Honolulu"]) {
    assert.ok(sandbox.includes(zone), zone);
  }
  assert.deepEqual(zonesOf("+15551234567"), sandbox, "of no region: as one of the United States");
  assert.ok(zonesOf("+61412345678").includes("Australia/Perth"));
  assert.ok(zonesOf("+79161234567").includes("Europe/Moscow"));
});

test("an e-mail address and a number without a country have no known time zone", () => {
  for (const address of ["jo@example.com", "+88212345678", "+999123", "+2", "chat_1"]) {
    assert.deepEqual(zonesOf(address), [], address);
  }
});

test("the customer's time zone counts if it is a possible zone of the number, under any of its names", () => {
  assert.deepEqual(zonesThatCount("+15005550100", "America/Chicago"), ["America/Chicago"]);
  assert.deepEqual(zonesThatCount("+15005550100", "US/Eastern"), ["America/New_York"]);
  assert.deepEqual(zonesThatCount("+18505550123", "America/Chicago"), ["America/Chicago"]);
});

test("the customer's time zone does not count if the number is in other zones", () => {
  assert.deepEqual(zonesThatCount("+442071838750", "America/Chicago"), ["Europe/London"]);
  assert.deepEqual(zonesThatCount("+12125550123", "America/Chicago"), ["America/New_York"]);
  assert.deepEqual(zonesThatCount("+15005550100", "Europe/London"), zonesOf("+15005550100"));
});

test("the customer's time zone, or else UTC, counts for an address without a known zone", () => {
  assert.deepEqual(zonesThatCount("jo@example.com", "Asia/Tokyo"), ["Asia/Tokyo"]);
  assert.deepEqual(zonesThatCount("jo@example.com", null), ["UTC"]);
});

test("isTimeZone accepts names of the IANA database in their exact spelling", () => {
  for (const name of ["America/New_York", "UTC", "Etc/GMT+5", "US/Eastern", "Asia/Calcutta", "Asia/Kolkata"]) {
    assert.equal(isTimeZone(name), true, name);
  }
  for (const name of [
    "",
    "Nowhere",
    "america/new_york",
    "+05:30",
    "EST8",
    "GMT+5",
    "Factory",
    "constructor",
    "__proto__",
  ]) {
    assert.equal(isTimeZone(name), false, name);
  }
});

test("the clocks of a zone show its own time, summer time included", () => {
  const at = (iso: string) => Date.parse(iso);
  assert.equal(minuteOfDay("America/New_York", at("2026-01-15T12:34:56Z")), 7 * 60 + 34);
  assert.equal(minuteOfDay("America/New_York", at("2026-07-15T12:34:56Z")), 8 * 60 + 34);
  assert.equal(minuteOfDay("Asia/Kolkata", at("2026-07-15T18:30:00Z")), 0);
  assert.throws(() => minuteOfDay("Nowhere", 0), RangeError);
});
