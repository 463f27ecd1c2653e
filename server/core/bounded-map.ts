/** Maps with a bounded number of entries, and results of pure functions that are remembered in one. Mutates only what it is given. */

/** Iterators by map. All entries that an iterator has passed are deleted. */
const iterators = new WeakMap<object, Iterator<unknown>>();

/** Sets an entry at the end of `map`. Beyond `max` entries the first ones are removed. */
export function setBounded<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, max: number): void {
  map.delete(key);
  while (map.size >= max && map.size > 0) deleteFirst(map);
  map.set(key, value);
}

/**
 * Deletes the first entry, and returns it; null if the map is empty. A new iterator walks over the deleted entries before the first
 * one, so a map of 20,000 entries that loses its first one again and again costs as much as a short list only if one iterator goes on.
 */
export function deleteFirst<Key, Value>(map: Map<Key, Value>): [Key, Value] | null {
  let next = iterators.get(map)?.next() as IteratorResult<Key> | undefined;
  if (next === undefined || next.done === true) {
    const iterator = map.keys();
    iterators.set(map, iterator);
    next = iterator.next();
  }
  if (next.done === true) return null;
  const key = next.value;
  const value = map.get(key) as Value;
  map.delete(key);
  return [key, value];
}

/** A pure function that remembers its last `max` results; it takes one argument, and its results are never undefined. */
export function memoized<Key, Value>(max: number, make: (key: Key) => Value): (key: Key) => Value {
  const made = new Map<Key, Value>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known;
    const value = make(key);
    setBounded(made, key, value, max);
    return value;
  };
}
