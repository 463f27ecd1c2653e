/** Tests of quiet hours: until when they last, over midnight and summer time, against a look at every minute. */

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import type { QuietHours } from "../../sdk/wire.ts";
import { runsOf } from "../../test/support/runs.ts";
import { isClockTime, QUIET_MS_MAX, quietHoursOf, quietUntil } from "./quiet-hours.ts";
import { minuteOfDay } from "./time-zone.ts";

const NIGHT: QuietHours = { start: "21:00", end: "08:00", timeZone: null };
const NOON: QuietHours = { start: "12:00", end: "13:30", timeZone: null };

function until(hours: QuietHours, zones: string[], now: string): string | null {
  const at = quietUntil(hours, zones, Date.parse(now));
  return at === null ? null : new Date(at).toISOString().replace(":00.000Z", "Z");
}

test("quiet hours last from start to end in the recipient's time zone", () => {
  const zones = ["Europe/Berlin"];
  assert.equal(until(NOON, zones, "2026-01-15T10:59:59.999Z"), null);
  assert.equal(until(NOON, zones, "2026-01-15T11:00:00Z"), "2026-01-15T12:30Z");
  assert.equal(until(NOON, zones, "2026-01-15T12:29:59.999Z"), "2026-01-15T12:30Z");
  assert.equal(until(NOON, zones, "2026-01-15T12:30:00Z"), null);
});

test("hours over midnight end on the next day", () => {
  const zones = ["America/New_York"];
  assert.equal(until(NIGHT, zones, "2026-01-15T01:59:00Z"), null);
  assert.equal(until(NIGHT, zones, "2026-01-15T02:00:00Z"), "2026-01-15T13:00Z");
  assert.equal(until(NIGHT, zones, "2026-01-15T12:59:00Z"), "2026-01-15T13:00Z");
  assert.equal(until(NIGHT, zones, "2026-01-15T13:00:00Z"), null);
});

test("quiet hours over a change to summer time are an hour shorter, and over the change back an hour longer", () => {
  const zones = ["America/New_York"];
  assert.equal(until(NIGHT, zones, "2026-03-08T02:30:00Z"), "2026-03-08T12:00Z");
  assert.equal(until(NIGHT, zones, "2026-11-01T01:30:00Z"), "2026-11-01T13:00Z");
});

test("an end inside the hour that the clock skips is the end of that hour, and quiet hours wholly inside it do not occur", () => {
  const zones = ["America/New_York"];
  const early = { start: "01:00", end: "02:30", timeZone: null };
  assert.equal(until(early, zones, "2026-03-08T06:15:00Z"), "2026-03-08T07:00Z", "2:00 is 3:00");
  const skipped = { start: "02:10", end: "02:50", timeZone: null };
  assert.equal(until(skipped, zones, "2026-03-08T06:59:00Z"), null);
  assert.equal(until(skipped, zones, "2026-03-08T07:00:00Z"), null);
});

test("quiet hours hold from the moment that a clock change moves the time into them", () => {
  const zones = ["America/New_York"];
  const late = { start: "02:30", end: "03:30", timeZone: null };
  assert.equal(until(late, zones, "2026-03-08T07:00:00Z"), "2026-03-08T07:30Z");
  const twice = { start: "01:30", end: "01:45", timeZone: null };
  assert.equal(until(twice, zones, "2026-11-01T05:40:00Z"), "2026-11-01T05:45Z");
  assert.equal(until(twice, zones, "2026-11-01T05:50:00Z"), null);
  assert.equal(until(twice, zones, "2026-11-01T06:40:00Z"), "2026-11-01T06:45Z", "the hour comes again");
});

test("a recipient with several possible time zones has quiet hours while any zone has them", () => {
  const zones = ["America/New_York", "America/Los_Angeles"];
  assert.equal(until(NIGHT, zones, "2026-01-15T01:59:00Z"), null);
  assert.equal(until(NIGHT, zones, "2026-01-15T02:00:00Z"), "2026-01-15T16:00Z");
  assert.equal(until(NIGHT, zones, "2026-01-15T14:00:00Z"), "2026-01-15T16:00Z", "New York is awake");
});

test("if several zones together have no hour outside quiet hours, the customer's own zone counts, or UTC", () => {
  const zones = ["America/Los_Angeles", "Asia/Kolkata", "Europe/Paris"];
  const long = { start: "18:00", end: "10:00" };
  assert.equal(until({ ...long, timeZone: null }, zones, "2026-01-15T03:00:00Z"), "2026-01-15T10:00Z");
  assert.equal(until({ ...long, timeZone: null }, zones, "2026-01-15T12:00:00Z"), null);
  assert.equal(until({ ...long, timeZone: "Asia/Tokyo" }, zones, "2026-01-15T12:00:00Z"), "2026-01-16T01:00Z");
});

test("quiet hours with equal start and end are refused, and so is an invalid time", () => {
  assert.deepEqual(quietHoursOf({ start: "21:00", end: "08:00" }), NIGHT);
  assert.throws(() => quietHoursOf({ start: "21:00", end: "21:00" }), /end: must differ from start, 21:00/);
  for (const text of ["24:00", "8:00", "08:60", "0800", "08:00:00", " 08:00", "08:00\n", ""]) {
    assert.equal(isClockTime(text), false, JSON.stringify(text));
  }
  assert.equal(isClockTime("00:00"), true);
  assert.equal(isClockTime("23:59"), true);
});

/** Zones with changes of an hour, of half an hour, at midnight, in the other half of the year, and with none. */
const ZONES = [
  "America/New_York",
  "America/St_Johns",
  "Europe/Lisbon",
  "Australia/Lord_Howe",
  "America/Santiago",
  "Asia/Beirut",
  "Africa/Casablanca",
  "Asia/Kathmandu",
  "Pacific/Chatham",
  "UTC",
];

const MINUTE_MS = 60_000;

/** The first minute from `now` on that is quiet in no zone, found by a scan of three days. */
function scanned(hours: QuietHours, zones: readonly string[], now: number): number | null | "never" {
  const text = (minute: number) =>
    `${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}`;
  const isQuiet = (at: number) =>
    zones.some((zone) => {
      const time = text(minuteOfDay(zone, at));
      const [after, before] = [time >= hours.start, time < hours.end];
      return hours.start < hours.end ? after && before : after || before;
    });
  if (!isQuiet(now)) return null;
  const first = now - (now % MINUTE_MS) + MINUTE_MS;
  for (let at = first; at <= now + QUIET_MS_MAX; at += MINUTE_MS) if (!isQuiet(at)) return at;
  return "never";
}

/** Instants of ten years, every other one within a day and a half of a change of clocks in New York, Lisbon or Santiago. */
const CHANGES = [
  "2026-03-08T07:00Z",
  "2026-11-01T06:00Z",
  "2027-03-28T01:00Z",
  "2027-10-31T01:00Z",
  "2026-09-06T04:00Z",
];
const instants = fc.oneof(
  fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2030, 0) }),
  fc
    .tuple(fc.constantFrom(...CHANGES), fc.integer({ min: -130_000_000, max: 50_000_000 }))
    .map(([change, ms]) => Date.parse(change) + ms),
);
const times = fc
  .integer({ min: 0, max: 1_439 })
  .map((minute) => `${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}`);

test("quietUntil returns the first minute outside quiet hours in every zone, for any hours, zones and instant", () => {
  let endless = 0;
  fc.assert(
    fc.property(
      times,
      times,
      fc.uniqueArray(fc.constantFrom(...ZONES), { minLength: 1, maxLength: 3 }),
      instants,
      (start, end, zones, now) => {
        fc.pre(start !== end);
        const hours = { start, end, timeZone: null };
        const expected = scanned(hours, zones, now);
        if (expected === "never") {
          endless += 1;
          assert.equal(quietUntil(hours, zones, now), scanned(hours, ["UTC"], now));
        } else assert.equal(quietUntil(hours, zones, now), expected);
      },
    ),
    // A case whose first minute is the last one checked: the clocks of two zones change after three days.
    {
      numRuns: runsOf(400),
      examples: [["03:31", "00:00", ["Africa/Casablanca", "America/St_Johns"], 1_709_782_200_000]],
    },
  );
  assert.ok(endless < 200, `${endless} of 400 cases had no end`);
});
