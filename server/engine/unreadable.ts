/** Work that goes on when something of it fails: a row that cannot be decoded is reported and goes to quarantine, another error is reported. */

import { RowUnreadable } from "../store/rows.ts";
import { isRefusedForNow } from "./commit.ts";
import type { Deps } from "./deps.ts";

/** The result of `read`; null if a row cannot be decoded, which is reported as a fault. */
export async function nullIfUnreadable<Value>(
  { observer }: Pick<Deps, "observer">,
  where: string,
  read: () => Promise<Value>,
): Promise<Value | null> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof RowUnreadable)) throw error;
    observer.fault(where, error);
    return null;
  }
}

/**
 * Does `work` with items one after the other, and returns the results. An item that fails is reported as a fault and left out, so that the
 * records of one customer hold up no others. Throws if the store cannot do anything now.
 */
export async function forEach<Item, Value>(
  { observer }: Pick<Deps, "observer">,
  where: string,
  items: readonly Item[],
  work: (item: Item) => Promise<Value>,
): Promise<Value[]> {
  const values: Value[] = [];
  for (const item of items) {
    try {
      values.push(await work(item));
    } catch (error) {
      if (isRefusedForNow(error)) throw error;
      observer.fault(where, error);
    }
  }
  return values;
}
