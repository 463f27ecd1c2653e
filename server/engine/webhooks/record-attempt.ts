/** Records the attempts of deliveries: what was sent is written down also if the database is out of reach for a moment. */

import type { Clock } from "../../clock.ts";
import { type Attempt, afterAttempt, type Delivery, isSuccess } from "../../core/delivery.ts";
import type { GoneReceivers } from "../../core/gone-receivers.ts";
import type { DeliveryId } from "../../core/id.ts";
import { packHeaders } from "../../core/request-headers.ts";
import type { Endpoint } from "../../core/webhook.ts";
import type { PostResult } from "../../outgoing/post.ts";
import type { Signer } from "../../store/customers.ts";
import type { ClaimedDelivery, DeliveryOutcome, Store } from "../../store/store.ts";
import { commitInTime } from "../commit.ts";
import type { EngineSettings } from "../deps.ts";
import type { AttemptFeed } from "./attempt-feed.ts";
import type { GoneMarks } from "./gone-marks.ts";
import type { OutcomeBatch } from "./outcome-batch.ts";
import type { ReceiverCache } from "./receiver-cache.ts";

/** The parts that all records of attempts share. */
export interface Recording {
  deps: {
    store: Pick<Store, "db">;
    clock: Clock;
    settings: Pick<EngineSettings, "webhookRetryScheduleMs">;
    attempted: Pick<AttemptFeed, "notify">;
    goneMarks: Pick<GoneMarks, "report">;
  };
  goneReceivers: GoneReceivers;
  receiverCache: ReceiverCache;
  outcomes: OutcomeBatch;
  /** Looks for due deliveries of a lane. `atOnce`: deliveries among them that a retry by hand asked for. */
  wake(lane: string, atOnce: readonly DeliveryId[]): void;
}

/** A leased delivery, and until when it is leased (monotonic time). */
export interface HeldDelivery extends ClaimedDelivery {
  leasedUntil: number;
}

/** The receiver of an attempt. */
export interface Target {
  /** Null for a `callbackUrl`. */
  endpoint: Endpoint | null;
  signer: Signer | null;
  url: string;
}

/** The result of a request, when it began and ended, and the jitter of the retry after it. */
export interface TimedResult extends PostResult {
  /** The seconds that the receiver asked to wait; null: none. */
  retryAfterSeconds: number | null;
  at: number;
  /** How far the sandbox's clock was ahead when it began, in milliseconds. */
  aheadMs: number;
  endedAt: number;
  jitter: number;
}

/** Records an attempt that was made. While the database is out of reach that is tried again: otherwise the webhook would be sent again. */
export async function recordPosted(
  recording: Recording,
  item: HeldDelivery,
  target: Target,
  posted: TimedResult,
): Promise<void> {
  const { deps, receiverCache } = recording;
  reportGone(recording, target, posted);
  const inTime = <Value>(read: () => Promise<Value>) => commitInTime(deps, item.leasedUntil, read);
  const { at, aheadMs, endedAt, jitter, status, durationMs, error } = posted;
  const response = await inTime(() => shownResponse(recording, target, posted));
  const asked = posted.retryAfterSeconds === null ? {} : { retryAfterSeconds: posted.retryAfterSeconds };
  const headers = packHeaders(posted.sent ?? []);
  const sent = headers === null ? {} : { headers };
  const ahead = aheadMs === 0 ? {} : { aheadMs };
  const attempt: Attempt = { at, ...ahead, status, durationMs, response, error, ...asked, ...sent };
  const ended = (fresh: Delivery): Delivery => ({
    ...fresh,
    ...afterAttempt(fresh, attempt, deps.settings.webhookRetryScheduleMs, endedAt, jitter),
    url: target.url,
  });
  const mayBeOff = !isSuccess(posted) && target.endpoint?.kind !== "inbox";
  const isLast = mayBeOff && (await inTime(() => receiverCache.isOff(deps.store, item.delivery)));
  await record(recording, item, isLast ? (fresh) => cancelled(ended(fresh)) : ended);
}

/** Counts the answer of an endpoint, and reports if the endpoint is gone or back. Callbacks and the inbox have no mark. */
function reportGone({ deps, goneReceivers }: Recording, { endpoint }: Target, posted: TimedResult): void {
  if (endpoint === null || endpoint.kind === "inbox") return;
  const mark = goneReceivers.answered(endpoint, posted, posted.endedAt);
  if (mark !== null) deps.goneMarks.report(mark);
}

/** The response of a private address is kept only if the service has a single customer. */
async function shownResponse(
  { deps, receiverCache }: Recording,
  { endpoint }: Target,
  posted: PostResult,
): Promise<string | null> {
  if (!posted.isPrivate || endpoint?.kind === "inbox") return posted.response;
  return (await receiverCache.hasSeveralCustomers(deps.store)) ? null : posted.response;
}

/** Cancels a delivery whose endpoint is paused or deleted. A delivery that had ended keeps its status. */
export function cancelled(delivery: Delivery): Delivery {
  const status = delivery.status === "pending" ? "cancelled" : delivery.status;
  return { ...delivery, status, dueAt: null, byHand: false, resumeAt: null, retryRequested: false };
}

/**
 * Commits the end of an attempt. If a retry by hand changed the delivery meanwhile, decides on its present state. A delivery
 * whose lease has ended is left to the next claim.
 */
export async function record(
  { deps, outcomes, wake }: Recording,
  { delivery, lease, leasedUntil }: HeldDelivery,
  after: (fresh: Delivery) => Delivery,
): Promise<void> {
  const { id, lane } = delivery;
  for (let fresh = delivery; ; ) {
    const set = after(fresh);
    const outcome: DeliveryOutcome = { id, lease, version: fresh.version, set };
    const finished = await commitInTime(deps, leasedUntil, () => outcomes.finish(outcome));
    if (finished.result === "changed") {
      fresh = finished.delivery;
      continue;
    }
    deps.attempted.notify(id, delivery.customerId);
    const isDue = finished.result === "ok" && set.dueAt !== null && set.dueAt <= deps.clock.now();
    if (isDue) wake(lane, set.byHand ? [id] : []);
    return;
  }
}
