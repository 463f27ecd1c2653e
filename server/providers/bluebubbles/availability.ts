/** Whether Apple knows an address. Costs calls of the Private API, in their turn. */

import { recordOf } from "../../core/loose-json.ts";
import type { Limits } from "./client.ts";
import type { Mac } from "./mac.ts";

/**
 * What Apple says of an address; null where it does not say. A no is asked again: Apple says no of addresses that are
 * there, now and then. Rejects with `RateLimited` where it is called off before its turn.
 */
export async function isAvailable(
  { client, rateLimiter }: Pick<Mac, "client" | "rateLimiter">,
  service: "imessage" | "facetime",
  address: string,
  limits: Limits,
): Promise<boolean | null> {
  for (let asked = 1; ; asked += 1) {
    await rateLimiter.acquire(limits.abort);
    const answer = await client.get(`/handle/availability/${service}`, { address }, limits);
    const available = answer.kind === "ok" ? recordOf(answer.data)?.available : null;
    if (typeof available !== "boolean") return null;
    if (available || asked === 2) return available;
  }
}
