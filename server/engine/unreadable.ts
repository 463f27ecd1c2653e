/** Work that goes on when a row cannot be decoded: the row is reported, and goes to quarantine. */

import { RowUnreadable } from "../store/rows.ts";
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
