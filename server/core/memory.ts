/** The memory that an instance has on disk. */

/**
 * A small durable key-value store of one instance, for cursors and work in progress. `put` creates or replaces a value.
 * `put` and `delete` resolve once the change is on disk.
 */
export interface Memory {
  list(prefix: string): Promise<{ key: string; value: string }[]>;
  put(key: string, value: string): Promise<void>;
  delete(key: string): Promise<void>;
}
