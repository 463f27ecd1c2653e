/** Maps and sets with a bounded number of entries. Mutates only what it is given. */

/** Iterators by map or set. All entries that an iterator has passed are deleted. */
const iterators = new WeakMap<object, Iterator<unknown>>();

/** Sets an entry at the end of `map`. Beyond `max` entries the first ones are removed. */
export function setBounded<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, max: number): void {
  map.delete(key);
  while (map.size >= max && map.size > 0) deleteFirst(map);
  map.set(key, value);
}

/**
 * Deletes the first entry. A new iterator walks over the deleted entries before the first one, so a map of 20,000 entries
 * that loses its first one again and again costs as much as a short list only if one iterator goes on.
 */
function deleteFirst<Key>(map: Map<Key, unknown>): void {
  let next = iterators.get(map)?.next() as IteratorResult<Key> | undefined;
  if (next === undefined || next.done === true) {
    const iterator = map.keys();
    iterators.set(map, iterator);
    next = iterator.next();
  }
  if (next.done !== true) map.delete(next.value);
}
