/** SQL over the timelines of messages: when their send attempts began. */

/**
 * A query of the instants (`at`) at which a message's attempts began, on all channels, and of their places in the timeline. `timeline` is its column, packed or as older
 * versions stored it (see `TIMELINE_PACKING`). That of a message in quarantine may be anything.
 */
export function attemptBeginnings(timeline: string): string {
  return `select at, place from (
      select iif(entry.type = 'array', entry.value ->> '$[0]', entry.value ->> '$.status') as status,
        iif(entry.type = 'array', entry.value ->> '$[4]', entry.value ->> '$.reason') as reason, entry.key as place,
        iif(entry.type = 'array', sum(entry.value ->> '$[1]') over (order by entry.key), entry.value ->> '$.at') as at
      from json_each(iif(json_valid(${timeline}), ${timeline}, '[]')) as entry where entry.type in ('array', 'object'))
    where status = 'pending' and reason is null`;
}
