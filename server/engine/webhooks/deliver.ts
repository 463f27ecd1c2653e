/** Sends due deliveries as signed webhooks, and commits each attempt with its consequences for the schedule. */

import { type Attempt, afterAttempt, type Delivery, isSuccess } from "../../core/delivery.ts";
import { signatureHeaders } from "../../core/signature.ts";
import type { OwnLimit } from "../../outgoing/connection.ts";
import type { Poster, PostResult } from "../../outgoing/post.ts";
import { findDelivery } from "../../store/deliveries.ts";
import type { ClaimedDelivery } from "../../store/store.ts";
import { findWebhook } from "../../store/webhooks.ts";
import { change, commitInTime, difference } from "../commit.ts";
import type { Deps } from "../deps.ts";
import { claimOf } from "../drain.ts";
import type { With } from "../engine-deps.ts";
import { Lanes } from "../lanes.ts";
import type { AttemptOutcome } from "../observer.ts";
import { nullIfUnreadable } from "../quarantine.ts";
import type { RunResult } from "../run-result.ts";
import { customerSecretPlace, endpointSecretPlace } from "../secret-places.ts";

/** Length of a lease in real milliseconds: longer than any attempt. */
const LEASE_MS = 45_000;
/** An attempt and its commit take less than this, in real milliseconds. */
const ATTEMPT_MS_MAX = 35_000;
const ATTEMPTS_AT_ONCE_MAX = 2_048;
/** A customer may hold this multiple of the free permits: 80 % of all when alone, 44 % each of two. */
const SHARE_OF_FREE = 4;
/** A successful response within this time earns its lane a permit, in milliseconds. */
const SOON_MS = 5_000;

/** Posts webhooks. `inboxUrl` is the address of this process itself. */
export interface WebhookSender {
  poster: Pick<Poster, "post">;
  inboxUrl(path: string): string;
}

/** The loop that drains due deliveries; a lane is an endpoint, or the origin of a customer's callbacks. */
export function createDeliver(
  deps: With<"attempted" | "chance" | "configCache" | "receiverCache" | "sealer">,
  sender: WebhookSender,
): Lanes<ClaimedDelivery> {
  const { clock, observer, receiverCache, settings, store } = deps;
  return new Lanes<ClaimedDelivery>({
    clock,
    async claim(lanes) {
      const claimed = await store.claimDeliveries({ lanes, now: clock.now(), until: clock.real() + LEASE_MS });
      return claimOf(lanes, claimed, ({ delivery }) => delivery.lane);
    },
    // Leases run out by themselves.
    release() {},
    dueLanes: async () => (await store.dueLanes("deliveries", clock.now())).map(({ lane }) => lane),
    ownerOf: (lane) => receiverCache.ownerOf(lane),
    loadOwners: (lanes) => receiverCache.load(store, lanes),
    laneOf: ({ delivery }) => delivery.lane,
    // The store claims no event whose predecessor has had no attempt.
    orderingKeyOf: () => null,
    isStale: ({ delivery }) => (delivery.claimedUntil ?? 0) - clock.real() < ATTEMPT_MS_MAX,
    prefetch: 0,
    run: (claimed, free) => deliver(deps, sender, claimed, free),
    fault: (error) => observer.fault("deliver", error),
    inFlight: (count) => observer.inFlight("deliver", count),
    // The next event of a message waits for the first attempt of this one.
    mayFreeOthers: ({ delivery }) => delivery.messageId !== null && delivery.attemptCount === 0,
    permitsPerLane: (lane) => receiverCache.maxInFlight(lane) ?? settings.webhookConcurrency,
    permitsMax: ATTEMPTS_AT_ONCE_MAX,
    shareOfFree: SHARE_OF_FREE,
  });
}

async function deliver(
  deps: With<"attempted" | "chance" | "configCache" | "sealer">,
  sender: WebhookSender,
  claimed: ClaimedDelivery,
  free: (result: RunResult) => void,
): Promise<RunResult> {
  const { delivery, endpoint } = claimed;
  deps.observer.dueLag(deps.clock.now() - claimed.dueAt);
  if (delivery.endpointId !== null && endpoint?.active !== true) {
    await record(deps, delivery, cancelled);
    return "good";
  }
  const url = endpoint === null ? delivery.url : endpoint.url;
  const at = deps.clock.now();
  const posted = await post(deps, sender, claimed, url);
  const ours = UNCOUNTED[posted.error ?? ""];
  if (ours !== undefined) {
    if (ours.limit !== null) deps.observer.outOf(ours.limit);
    return ours.result;
  }
  const endedAt = deps.clock.now();
  const succeeded = isSuccess(posted);
  const result = succeeded ? (posted.durationMs <= SOON_MS ? "good" : "late") : posted.timedOut ? "slow" : "bad";
  // The receiver is free for the next delivery; the response is recorded meanwhile.
  free(result);
  const { webhookRetryScheduleMs } = deps.settings;
  const chance = deps.chance();
  const response = await shownResponse(deps, claimed, posted);
  const { status, durationMs, error } = posted;
  const attempt: Attempt = { at, status, durationMs, response, error };
  const ended = (fresh: Delivery): Delivery => ({
    ...fresh,
    ...afterAttempt(fresh, attempt, webhookRetryScheduleMs, endedAt, chance),
    url,
  });
  const isLast = !succeeded && (await wasClosed(deps, claimed));
  await record(deps, delivery, isLast ? (fresh) => cancelled(ended(fresh)) : ended);
  deps.observer.attempted(delivery.customerId, outcomeOf(posted, succeeded));
  return result;
}

/** Errors of an attempt that say nothing about its receiver: the loop keeps the delivery, and runs it again. */
const UNCOUNTED: Readonly<Partial<Record<string, { limit: OwnLimit | null; result: RunResult }>>> = {
  STOPPED: { limit: null, result: "stopped" },
  OUT_OF_FILES: { limit: "OUT_OF_FILES", result: "local" },
  OUT_OF_PORTS: { limit: "OUT_OF_PORTS", result: "noPort" },
};

/** The response of a private address is kept only if the service has a single customer. */
async function shownResponse(
  deps: With<"configCache">,
  { endpoint }: ClaimedDelivery,
  posted: PostResult,
): Promise<string | null> {
  if (!posted.opened || endpoint?.kind === "inbox") return posted.response;
  return (await deps.configCache.hasSeveralCustomers()) ? null : posted.response;
}

/** Whether the endpoint was paused or deleted while the attempt was in flight. */
async function wasClosed({ observer, store }: Deps, { delivery, endpoint }: ClaimedDelivery): Promise<boolean> {
  if (endpoint === null || endpoint.kind === "inbox") return false;
  const read = async () => ({ fresh: await findWebhook(store.db, delivery.customerId, endpoint.id) });
  const found = await nullIfUnreadable({ observer }, "deliver", read);
  return found !== null && found.fresh?.active !== true;
}

/** Cancels a delivery whose endpoint is paused or deleted. A delivery that had ended keeps its status. */
function cancelled(delivery: Delivery): Delivery {
  const status = delivery.status === "pending" ? "cancelled" : delivery.status;
  return { ...delivery, status, dueAt: null, claimedUntil: null, byHand: false, resumeAt: null, retryRequested: false };
}

function outcomeOf(posted: PostResult, succeeded: boolean): AttemptOutcome {
  if (succeeded) return "succeeded";
  if (posted.timedOut) return "timeout";
  return posted.error === "ADDRESS_REFUSED" ? "refused" : "failed";
}

/** Result without an attempt, if nothing can sign it: the receiver would refuse it. */
const UNSIGNED: PostResult = {
  status: null,
  durationMs: 0,
  response: null,
  error: "SECRET_UNREADABLE",
  timedOut: false,
  opened: false,
};

async function post(
  deps: With<"sealer">,
  sender: WebhookSender,
  claimed: ClaimedDelivery,
  url: string,
): Promise<PostResult> {
  const { delivery, bytes, correlationId } = claimed;
  const secrets = openSecrets(deps, claimed);
  if (secrets === null) return UNSIGNED;
  const { secret, previousSecret } = secrets;
  const sentAtSeconds = Math.floor(deps.clock.real() / 1_000);
  const signed = signatureHeaders({ eventId: delivery.eventId, body: bytes, secret, previousSecret, sentAtSeconds });
  const headers = { "X-Correlation-Id": correlationId, ...signed };
  const toInbox = claimed.endpoint?.kind === "inbox";
  return sender.poster.post({ url: toInbox ? sender.inboxUrl(url) : url, body: bytes, headers, trusted: toInbox });
}

/** The decrypted signing secrets; null if they cannot be decrypted, which is logged for the operator. */
function openSecrets(deps: With<"sealer">, claimed: ClaimedDelivery) {
  try {
    return secretsOf(deps, claimed);
  } catch (error) {
    deps.observer.fault("deliver", error);
    return null;
  }
}

/** The signing secrets: the endpoint's own, or the customer's for the configuration and for callbacks. */
function secretsOf(deps: With<"sealer">, { delivery, endpoint, customer }: ClaimedDelivery) {
  const own = endpoint !== null && endpoint.secret !== null;
  const place = own ? endpointSecretPlace(endpoint.id) : customerSecretPlace(delivery.customerId);
  const holder = own ? endpoint : customer;
  if (holder === null || holder.secret === null) throw new Error(`there is no secret at ${place}`);
  const inGrace = holder.previousSecretUntil !== null && holder.previousSecretUntil > deps.clock.real();
  const previous = inGrace ? holder.previousSecret : null;
  return {
    secret: deps.sealer.open(holder.secret, place),
    previousSecret: previous === null ? null : deps.sealer.open(previous, place),
  };
}

/**
 * Commits the end of an attempt. If a retry by hand changed the delivery meanwhile, decides on its present state. A delivery
 * whose lease ran out and was claimed again is left to that claim.
 */
async function record(deps: With<"attempted">, claimed: Delivery, after: (fresh: Delivery) => Delivery): Promise<void> {
  let known: Delivery | null = claimed;
  const decision = async () => {
    const fresh: Delivery | null = known ?? (await findDelivery(deps.store.db, claimed.id));
    known = null;
    if (fresh === null || fresh.claimedUntil !== claimed.claimedUntil) return { transaction: null, value: null };
    const next = after(fresh);
    const set = difference(fresh, next);
    const update = { op: "update", table: "deliveries", id: fresh.id, version: fresh.version, set } as const;
    return { transaction: [update], value: next };
  };
  const ended = await commitInTime(deps, claimed.claimedUntil, () => change(deps, decision));
  deps.attempted.notify(claimed.id);
  if (ended !== null && ended.dueAt !== null && ended.dueAt <= deps.clock.now()) deps.wake.deliveries([ended.lane]);
}
