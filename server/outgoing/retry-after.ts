/** Reads `Retry-After` (RFC 9110, section 10.2.3): whole seconds, or a date in one of the three forms of HTTP. Pure. */

/** A receiver may put an attempt off for this long at most, in seconds. */
const RETRY_AFTER_SECONDS_MAX = 86_400;
/** The longest HTTP date, `Wednesday, 06-Nov-94 08:49:37 GMT`, has 33 characters. A longer value is neither. */
const LENGTH_MAX = 64;

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const LONG_DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const TIME = String.raw`(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)`;
const MONTH = `(?<month>${MONTHS.join("|")})`;

/** The three forms of RFC 9110, section 5.6.7: the preferred one, that of RFC 850, and that of `asctime`. Case counts. */
const DATES = [
  new RegExp(String.raw`^(?:${DAYS.join("|")}), (?<day>\d\d) ${MONTH} (?<year>\d{4}) ${TIME} GMT$`),
  new RegExp(String.raw`^(?:${LONG_DAYS.join("|")}), (?<day>\d\d)-${MONTH}-(?<year>\d\d) ${TIME} GMT$`),
  new RegExp(String.raw`^(?:${DAYS.join("|")}) ${MONTH} (?<day>[ \d]\d) ${TIME} (?<year>\d{4})$`),
];

/**
 * The seconds that a receiver asks to wait, 1 to 86,400, by the values of its `Retry-After` headers; null without one, with several, and for
 * 0, the past and anything else. `now`: the real time in epoch milliseconds, which a date is compared with.
 */
export function retryAfterSeconds(values: readonly string[], now: number): number | null {
  const [value, ...others] = values.map((each) => each.trim());
  if (value === undefined || others.length > 0 || value.length > LENGTH_MAX) return null;
  const seconds = /^\d+$/.test(value) ? Number(value) : secondsUntil(value, now);
  return seconds === null || seconds <= 0 ? null : Math.min(seconds, RETRY_AFTER_SECONDS_MAX);
}

function secondsUntil(value: string, now: number): number | null {
  const found = DATES.map((form) => form.exec(value)?.groups).find((groups) => groups !== undefined);
  if (found === undefined) return null;
  const at = instantOf(found, now);
  return at === null ? null : Math.ceil((at - now) / 1_000);
}

function instantOf(parts: Readonly<Record<string, string>>, now: number): number | null {
  const [day, hour, minute, second] = [parts.day, parts.hour, parts.minute, parts.second].map(Number) as [
    number,
    number,
    number,
    number,
  ];
  const year = parts.year?.length === 2 ? fullYear(Number(parts.year), now) : Number(parts.year);
  const midnight = new Date(0);
  midnight.setUTCFullYear(year, MONTHS.indexOf(parts.month ?? ""), day);
  // A leap second is 60; a day that its month does not have would be one of the next month.
  if (midnight.getUTCDate() !== day || hour > 23 || minute > 59 || second > 60) return null;
  return midnight.getTime() + ((hour * 60 + minute) * 60 + second) * 1_000;
}

/** A year of two digits that seems more than 50 years ahead is the most recent past year with these digits (RFC 9110). */
function fullYear(digits: number, now: number): number {
  const present = new Date(now).getUTCFullYear();
  const year = present - (present % 100) + digits;
  return year > present + 50 ? year - 100 : year;
}
