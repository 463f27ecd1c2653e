/** Instants in requests and responses: ISO 8601 with an offset or `Z`. Pure. */

const DATE = /^(\d{4})-(\d{2})-(\d{2})/;
const INSTANT = /^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i;

/** The first millisecond with a year of four digits in UTC: responses cannot contain an earlier instant. */
export const FIRST_INSTANT = Date.parse("0000-01-01T00:00:00.000Z");
/** The last millisecond with a year of four digits. */
const LAST_INSTANT = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * Epoch milliseconds of an instant; null if the text is not an instant (`2026-02-30T…`), or outside the years 0000 to
 * 9999, which cannot be formatted.
 */
export function parseInstant(text: string): number | null {
  const date = DATE.exec(text);
  if (date === null || !INSTANT.test(text)) return null;
  const [, year = "", month = "", day = ""] = date;
  // A day beyond the end of its month would roll over into the next month.
  const midnight = new Date(`${year}-${month}-${day}T00:00:00Z`);
  if (midnight.getUTCDate() !== Number(day)) return null;
  const at = Date.parse(text);
  return at >= FIRST_INSTANT && at <= LAST_INSTANT ? at : null;
}

const DAY_MS = 86_400_000;

/** The format that `parseBound` accepts, as the end of an error message. */
export const BOUND_EXPECTED = "must be a date, such as 2026-01-31, or an instant with an offset or Z";

/**
 * Epoch milliseconds of one end of a period, given as an instant or a date. A date is a day in UTC: its start for
 * `from`, and its end (the start of the next day) for `to`. Null for any other text.
 */
export function parseBound(text: string, end: "from" | "to"): number | null {
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const at = parseInstant(isDate ? `${text}T00:00:00Z` : text);
  return at !== null && isDate && end === "to" ? Math.min(at + DAY_MS, LAST_INSTANT) : at;
}

/** The ends of the instants of a second. */
const MILLISECONDS = Array.from({ length: 1_000 }, (_, ms) => `${String(ms).padStart(3, "0")}Z`);
const SECOND_ENDING = "000Z";

/** The second that was formatted last: most instants are in the same one as the last. */
let lastSecond = { at: Number.NaN, text: "" };

/** The instant as responses contain it: ISO 8601 in UTC, with milliseconds. */
export function iso(at: number): string {
  const second = Math.floor(at / 1_000) * 1_000;
  if (second !== lastSecond.at) {
    lastSecond = { at: second, text: new Date(second).toISOString().slice(0, -SECOND_ENDING.length) };
  }
  return lastSecond.text + (MILLISECONDS[Math.floor(at - second)] ?? "");
}

/** `iso` of an instant that may be null. */
export function isoOrNull(at: number | null): string | null {
  return at === null ? null : iso(at);
}
