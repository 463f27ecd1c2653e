/** Asks Apple, through the Mac, whether an address can be reached. Each query is a rate-limited Private API call. */

import { recordOf } from "../../core/loose-json.ts";
import type { Limits, MacClient } from "./client.ts";
import type { PrivateApiRateLimiter } from "./rate-limiter.ts";

/**
 * Returns Apple's response; null if there is none. A negative response is checked a second time, because Apple now and then
 * denies addresses that exist. Rejects with `RateLimited` if aborted before the limiter admits the call.
 */
export async function isAvailable(
  { client, rateLimiter }: { client: MacClient; rateLimiter: PrivateApiRateLimiter },
  service: "imessage" | "facetime",
  address: string,
  limits: Limits,
): Promise<boolean | null> {
  for (let asked = 1; ; asked += 1) {
    await rateLimiter.acquire(limits.abort);
    const response = await client.get(`/handle/availability/${service}`, { address }, limits);
    const available = response.kind === "ok" ? recordOf(response.data)?.available : null;
    if (typeof available !== "boolean") return null;
    if (available || asked === 2) return available;
  }
}
