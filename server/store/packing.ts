/**
 * Lists that are stored as shorter JSON: an item is a list of its values. Before, half of the bytes that an update of a
 * message wrote were member names of its timeline, and one repeated id.
 */

/**
 * Packs the items of a list. `unpack` leaves an item that is no list as it is: it is damaged, and the form of its
 * column judges it.
 */
export interface Packing {
  pack(items: readonly object[]): unknown[];
  unpack(items: readonly unknown[]): unknown[];
}

type Item = Readonly<Record<string, unknown>>;

/** Stands for the value of the entry before. */
const SAME = 0;

/**
 * Status; milliseconds since the entry before; channel and instance, or `SAME`; reason; how far the sandbox's clock was
 * ahead.
 */
export const TIMELINE_PACKING: Packing = {
  pack(items) {
    let before: Item = { at: 0 };
    return (items as readonly Item[]).map((entry) => {
      const { status, at, channel, instanceId, reason, aheadMs } = entry;
      const same = (property: string, value: unknown) =>
        value !== undefined && value === before[property] ? SAME : value;
      const packed = [
        status,
        Number(at) - Number(before.at),
        same("channel", channel),
        same("instanceId", instanceId),
        reason,
        aheadMs,
      ];
      before = { at, channel, instanceId: instanceId ?? before.instanceId };
      return withoutEnd(packed);
    });
  },
  unpack(items) {
    let before: Item = { at: 0 };
    return items.map((item) => {
      const entry = Array.isArray(item) ? entryOf(item, before) : (item as Item | null);
      before = { ...entry, instanceId: entry?.instanceId ?? before.instanceId };
      return entry;
    });
  },
};

function entryOf([status, ms, channel, instanceId, reason, aheadMs]: readonly unknown[], before: Item): Item {
  const entry: Record<string, unknown> = { status, at: Number(before.at) + Number(ms) };
  const set = (property: string, value: unknown) => {
    if (value !== undefined && value !== null) entry[property] = value === SAME ? before[property] : value;
  };
  set("channel", channel);
  set("reason", reason);
  set("instanceId", instanceId);
  set("aheadMs", aheadMs);
  return entry;
}

/** The values of an attempt in this order. The SQL that erases responses knows the place of `response`. */
export const ATTEMPTS_PACKING: Packing = {
  pack: (items) =>
    (items as readonly Item[]).map(({ at, status, durationMs, response, error, retryAfterSeconds, headers, aheadMs }) =>
      withoutEnd([at, status, durationMs, response, error, retryAfterSeconds, headers, aheadMs]),
    ),
  unpack: (items) =>
    items.map((item) => {
      if (!Array.isArray(item)) return item;
      const [
        at,
        status = null,
        durationMs,
        response = null,
        error = null,
        retryAfterSeconds = null,
        headers = null,
        aheadMs,
      ] = item;
      const attempt: Record<string, unknown> = { at, status, durationMs, response, error };
      if (retryAfterSeconds !== null) attempt.retryAfterSeconds = retryAfterSeconds;
      if (headers !== null) attempt.headers = headers;
      if (aheadMs !== undefined) attempt.aheadMs = aheadMs;
      return attempt;
    }),
};

/** Cuts the values after the last one that is not null. */
function withoutEnd(values: readonly unknown[]): unknown[] {
  let length = values.length;
  while (length > 0 && (values[length - 1] ?? null) === null) length -= 1;
  return values.slice(0, length);
}
