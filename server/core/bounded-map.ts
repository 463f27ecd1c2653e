/** Maps with a bounded number of entries. Mutates only the given map. */

/** Sets an entry at the end of `map`. Beyond `max` entries the first ones are removed. */
export function setBounded<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, max: number): void {
  map.delete(key);
  for (const first of map.keys()) {
    if (map.size < max) break;
    map.delete(first);
  }
  map.set(key, value);
}
