/** Time zones that the phone of an address may be in, and their time of day. Pure except for cached formatters. */

import { getTimezone, getTimezonesForCountry } from "countries-and-timezones";
import { parsePhoneNumberFromString } from "libphonenumber-js/min";
import { zonesOfAreaCode } from "./area-codes.ts";

/** The zone if nothing is known. */
const UTC = "UTC";

/** Zones of countries that the table lacks. */
const OTHER_COUNTRIES: Readonly<Record<string, readonly string[]>> = { XK: ["Europe/Belgrade"] };

/** North American numbers without a region count as numbers of the country that uses most of them. */
const NORTH_AMERICA = { callingCode: "1", country: "US" };

/**
 * Time zones (IANA) that the phone of an address may be in, by its country and, in North America, its area code. Several
 * if the country has several and the number does not decide; none if nothing is known, as for an e-mail address.
 */
export function zonesOf(address: string): readonly string[] {
  const parsed = address.startsWith("+") ? parsePhoneNumberFromString(address) : undefined;
  if (parsed === undefined) return [];
  const isNorthAmerican = parsed.countryCallingCode === NORTH_AMERICA.callingCode;
  const byAreaCode = isNorthAmerican ? zonesOfAreaCode(parsed.nationalNumber.slice(0, 3)) : null;
  if (byAreaCode !== null) return byAreaCode;
  if (parsed.country !== undefined) return zonesOfCountry(parsed.country);
  if (isNorthAmerican) return zonesOfCountry(NORTH_AMERICA.country);
  return [...new Set(parsed.getPossibleCountries().flatMap(zonesOfCountry))];
}

/**
 * The zones that count for an address: those that it may be in; only `own` if it is one of them or if
 * nothing is known; UTC if there is no `own` either. Never empty.
 */
export function zonesThatCount(address: string, own: string | null): readonly string[] {
  const zones = zonesOf(address);
  if (zones.length === 0) return [own ?? UTC];
  const named = own === null ? null : canonicalZone(own);
  return named !== null && zones.some((zone) => canonicalZone(zone) === named) ? [named] : zones;
}

/** Whether `name` is a time zone of the IANA database in its exact spelling. */
export function isTimeZone(name: string): boolean {
  if (getTimezone(name) === null) return false;
  try {
    formatterOf(name);
    return true;
  } catch {
    return false;
  }
}

const countries = new Map<string, readonly string[]>();

function zonesOfCountry(country: string): readonly string[] {
  const known = countries.get(country);
  if (known !== undefined) return known;
  const listed = getTimezonesForCountry(country)?.map(({ name }) => name) ?? OTHER_COUNTRIES[country] ?? [];
  countries.set(country, listed);
  return listed;
}

/** The canonical name of a zone: `US/Eastern` is an alias of `America/New_York`. */
function canonicalZone(name: string): string {
  return getTimezone(name)?.aliasOf ?? name;
}

/** The time of day in a zone at an instant, in minutes since midnight. Throws a `RangeError` for an unknown zone. */
export function minuteOfDay(zone: string, at: number): number {
  const [hours = "", minutes = ""] = formatterOf(zone).format(at).split(":");
  return Number(hours) * 60 + Number(minutes);
}

const formatters = new Map<string, Intl.DateTimeFormat>();

/** Created once per zone: creating a formatter takes a hundred times as long as using it. */
function formatterOf(zone: string): Intl.DateTimeFormat {
  const known = formatters.get(zone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    hour: "2-digit",
    minute: "2-digit",
  });
  formatters.set(zone, made);
  return made;
}
