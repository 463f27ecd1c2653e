/** Runs the loop of deliveries with its poster, in whichever thread creates it. */

import type { AllowList } from "../core/address.ts";
import { Deliver, type DeliverDeps } from "../engine/webhooks/deliver.ts";
import type { DeliverLoop } from "../engine/webhooks/deliver-loop.ts";
import { Poster } from "../outgoing/post.ts";
import type { Store } from "../store/store.ts";

/** The loop of deliveries, as the service composes and stops it. */
export interface HostedLoop extends DeliverLoop {
  /** Replaces the addresses that webhooks may reach. Attempts in flight are not counted, and are made again. */
  allow(list: AllowList): Promise<void>;
  /** Gives back the attempts in flight: a stop waits for them no longer. */
  cutOff(): void;
  /** Releases everything. Call after `stop`. */
  close(): Promise<void>;
}

/** Settings of the loop. */
export interface LoopSettings {
  allow: AllowList;
  userAgent: string;
  /** The address of this process itself, without a slash at the end. */
  ownUrl: string;
}

/**
 * The loop in this thread, over a store of its own. `allowReal`: the addresses that webhooks may reach while this process is not current,
 * since another one may have left the sandbox.
 */
export function runLoopHere(
  deps: Omit<DeliverDeps, "store"> & { store: Store },
  { allow, userAgent, ownUrl }: LoopSettings,
  allowReal: AllowList | null = null,
): HostedLoop {
  let poster = new Poster({ allow, userAgent });
  const strict = allowReal === null ? null : new Poster({ allow: allowReal, userAgent });
  const posterNow = () => (strict === null || deps.isCurrent?.() !== false ? poster : strict);
  const loop = new Deliver(deps, {
    poster: { post: (request) => posterNow().post(request) },
    inboxUrl: (path) => `${ownUrl}${path}`,
  });
  return {
    start: () => loop.start(),
    lagMs: () => loop.lagMs(),
    get ended() {
      return loop.ended;
    },
    wake: (lanes, atOnce) => loop.wake(lanes, atOnce),
    look: () => loop.look(),
    drop: (customerId) => loop.drop(customerId),
    changed: (changes) => loop.changed(changes),
    repaired: () => loop.repaired(),
    lanesChanged: () => loop.lanesChanged(),
    shardsInUse: () => loop.shardsInUse(),
    async allow(list) {
      const former = poster;
      poster = new Poster({ allow: list, userAgent });
      await former.close();
    },
    cutOff: () => void Promise.all([poster.close(), strict?.close()]),
    stop: () => loop.stop(),
    async close() {
      await Promise.all([poster.close(), strict?.close()]);
      await deps.store.close();
    },
  };
}
