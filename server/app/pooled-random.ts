/** Draws random bytes of the kernel in large blocks. */

import { randomBytes } from "node:crypto";
import type { Random } from "../core/id.ts";

/** Bytes drawn from the kernel at a time. */
const POOL_BYTES = 8_192;

/** Random bytes of the kernel, read in large blocks: otherwise two ids would take a tenth of a request's time. */
export function pooledRandom(): Random {
  let pool = randomBytes(POOL_BYTES);
  let used = 0;
  return (size) => {
    if (size > POOL_BYTES) return randomBytes(size);
    if (used + size > POOL_BYTES) {
      pool = randomBytes(POOL_BYTES);
      used = 0;
    }
    used += size;
    return pool.subarray(used - size, used);
  };
}
