/** Sends due deliveries as signed webhooks, and commits each attempt with what it means for the schedule. */

import { type Attempt, afterAttempt, type Delivery } from "../../core/delivery.ts";
import { signatureHeaders } from "../../core/signature.ts";
import type { OwnLimit } from "../../outgoing/connection.ts";
import type { Poster, PostResult } from "../../outgoing/post.ts";
import { findDelivery } from "../../store/deliveries.ts";
import type { ClaimedDelivery, Transaction } from "../../store/store.ts";
import { findWebhook } from "../../store/webhooks.ts";
import { change, commitInTime, difference } from "../commit.ts";
import type { Deps } from "../deps.ts";
import type { With } from "../engine-deps.ts";
import { Lanes, type RunResult } from "../lanes.ts";
import type { AttemptOutcome } from "../observer.ts";
import { nullIfUnreadable } from "../quarantine.ts";
import { customerSecretPlace, endpointSecretPlace } from "../secret-places.ts";

/** Length of a lease in real milliseconds (design: 45 s): more than an attempt can take. */
const LEASE_MS = 45_000;
const ATTEMPTS_AT_ONCE_MAX = 2_048;
/** A customer may have so many times the attempts in flight that are free: 80 % of all when alone, 44 % each of two. */
const SHARE_OF_FREE = 4;
/** A good answer within this time earns its endpoint an attempt at once, in milliseconds (design). */
const SOON_MS = 5_000;
/** What waits for a port to its receiver, which no other receiver needs, is tried again after this time. */
const PORTS_PAUSE_MS = 1_000;

/** What sending needs beside the context. `inboxUrl` is where this process itself listens. */
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
    claim: (lanes) => store.claimDeliveries({ lanes, now: clock.now(), until: clock.real() + LEASE_MS }),
    dueLanes: async () => (await store.dueLanes("deliveries", clock.now())).map(({ lane }) => lane),
    ownerOf: (lane) => receiverCache.ownerOf(lane),
    loadOwners: (lanes) => receiverCache.load(store, lanes),
    laneOf: ({ delivery }) => delivery.lane,
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
    await record(deps, delivery, null, cancelled);
    return "good";
  }
  const url = endpoint === null ? delivery.url : endpoint.url;
  const at = deps.clock.now();
  const posted = await post(deps, sender, claimed, url);
  const ours = UNCOUNTED[posted.error ?? ""];
  if (ours !== undefined) {
    // First the pause, so that it is not claimed again at once.
    free(ours.result);
    await giveBack(deps, claimed, ours);
    return ours.result;
  }
  const endedAt = deps.clock.now();
  const succeeded = posted.status !== null && posted.status >= 200 && posted.status < 300;
  const result = succeeded ? (posted.durationMs <= SOON_MS ? "good" : "late") : posted.timedOut ? "slow" : "bad";
  // The receiver is free for the next; what it answered is written meanwhile.
  free(result);
  const { webhookRetryScheduleMs } = deps.settings;
  const chance = deps.chance();
  const response = await shownResponse(deps, claimed, posted);
  const attempt = (fresh: Delivery): Attempt => ({
    deliveryId: delivery.id,
    number: fresh.attemptCount + 1,
    at,
    status: posted.status,
    durationMs: posted.durationMs,
    response,
    error: posted.error,
  });
  const ended = (fresh: Delivery): Delivery => ({
    ...fresh,
    ...afterAttempt(fresh, succeeded, webhookRetryScheduleMs, endedAt, chance),
    url,
  });
  const isLast = !succeeded && (await wasClosed(deps, claimed));
  await record(deps, delivery, attempt, isLast ? (fresh) => cancelled(ended(fresh)) : ended);
  deps.observer.attempted(delivery.customerId, outcomeOf(posted, succeeded));
  return result;
}

/** Ends of an attempt that say nothing of its receiver. */
const UNCOUNTED: Readonly<Partial<Record<string, { limit: OwnLimit | null; pauseMs: number; result: RunResult }>>> = {
  STOPPED: { limit: null, pauseMs: 0, result: "bad" },
  OUT_OF_FILES: { limit: "OUT_OF_FILES", pauseMs: 0, result: "local" },
  OUT_OF_PORTS: { limit: "OUT_OF_PORTS", pauseMs: PORTS_PAUSE_MS, result: "slow" },
};

/** Gives a delivery back as it was: nothing was tried. */
async function giveBack(
  deps: With<"attempted">,
  { delivery, dueAt }: ClaimedDelivery,
  { limit, pauseMs }: { limit: OwnLimit | null; pauseMs: number },
): Promise<void> {
  if (limit !== null) deps.observer.outOf(limit);
  const dueAgainAt = pauseMs === 0 ? dueAt : deps.clock.now() + pauseMs;
  await record(deps, delivery, null, (fresh) => ({ ...fresh, claimedUntil: null, dueAt: dueAgainAt }));
}

/** A private address answers its own customer alone: with several, its answers are not kept. */
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

/** A delivery whose endpoint is paused or gone: nothing more is tried. What had ended before stays as it was. */
function cancelled(delivery: Delivery): Delivery {
  const status = delivery.status === "pending" ? "cancelled" : delivery.status;
  return { ...delivery, status, dueAt: null, claimedUntil: null, byHand: false, resumeAt: null, retryRequested: false };
}

function outcomeOf(posted: PostResult, succeeded: boolean): AttemptOutcome {
  if (succeeded) return "succeeded";
  if (posted.timedOut) return "timeout";
  return posted.error === "ADDRESS_REFUSED" ? "refused" : "failed";
}

/** An attempt that was not made, since nothing can be signed: its receiver would refuse it. */
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

/** The secrets that sign, opened; null when they cannot be, which is told to whoever runs the service. */
function openSecrets(deps: With<"sealer">, claimed: ClaimedDelivery) {
  try {
    return secretsOf(deps, claimed);
  } catch (error) {
    deps.observer.fault("deliver", error);
    return null;
  }
}

/** The secrets that sign: the endpoint's own, or the customer's for the configuration and for callbacks. */
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
 * Commits how an attempt ended. Whoever asked for another in the meantime has changed the delivery: then it is decided
 * on what it now is. One whose lease had run out and was taken by another is left to that one.
 */
async function record(
  deps: With<"attempted">,
  claimed: Delivery,
  attempt: ((fresh: Delivery) => Attempt) | null,
  after: (fresh: Delivery) => Delivery,
): Promise<void> {
  let known: Delivery | null = claimed;
  const decision = async () => {
    const fresh: Delivery | null = known ?? (await findDelivery(deps.store.db, claimed.id));
    known = null;
    if (fresh === null || fresh.claimedUntil !== claimed.claimedUntil) return { unit: null, value: null };
    const next = after(fresh);
    const set = difference(fresh, next);
    const update = { op: "update", table: "deliveries", id: fresh.id, version: fresh.version, set } as const;
    const unit: Transaction =
      attempt === null ? [update] : [{ op: "insert", table: "attempts", record: attempt(fresh) }, update];
    return { unit, value: next };
  };
  const ended = await commitInTime(deps, claimed.claimedUntil, () => change(deps, decision));
  deps.attempted.notify(claimed.id);
  if (ended !== null && ended.dueAt !== null && ended.dueAt <= deps.clock.now()) deps.wake.deliveries([ended.lane]);
}
