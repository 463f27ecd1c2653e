/** Bounded memory: maps that hold so many entries and no more. Pure. */

/** Puts an entry at the end of `map`, in place of the one with its key. Beyond `max` entries the first ones go. */
export function setBounded<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, max: number): void {
  map.delete(key);
  for (const first of map.keys()) {
    if (map.size < max) break;
    map.delete(first);
  }
  map.set(key, value);
}
