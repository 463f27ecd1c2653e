/** Records the attempts of deliveries: what was sent is written down also if the database is out of reach for a moment. */

import type { Clock } from "../../clock.ts";
import {
  type Attempt,
  afterAttempt,
  type Delivery,
  type DeliveryAttempt,
  hasAttempt,
  isSuccess,
} from "../../core/delivery.ts";
import type { GoneReceivers } from "../../core/gone-receivers.ts";
import type { DeliveryId } from "../../core/id.ts";
import { packHeaders } from "../../core/request-headers.ts";
import type { Endpoint } from "../../core/webhook.ts";
import type { PostResult } from "../../outgoing/post.ts";
import type { Signer } from "../../store/customers.ts";
import type { DeliveryOutcome } from "../../store/due-deliveries.ts";
import type { Store } from "../../store/store.ts";
import { commitInTime } from "../commit.ts";
import type { EngineSettings } from "../deps.ts";
import type { DueQueue, HeldDelivery } from "../queue/due-deliveries.ts";
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
  queue: DueQueue;
  /** Looks for due deliveries of a lane. `atOnce`: deliveries among them that a retry by hand asked for. */
  wake(lane: string, atOnce: readonly DeliveryId[]): void;
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
  const inTime = <Value>(read: () => Promise<Value>) => commitInTime(deps, item.heldUntil, read);
  const { at, aheadMs, endedAt, jitter, status, durationMs, error } = posted;
  const response = await inTime(() => shownResponse(recording, target, posted));
  const asked = posted.retryAfterSeconds === null ? {} : { retryAfterSeconds: posted.retryAfterSeconds };
  const headers = packHeaders(posted.sent ?? []);
  const sent = headers === null ? {} : { headers };
  const ahead = aheadMs === 0 ? {} : { aheadMs };
  const attempt: Attempt = { at, ...ahead, status, durationMs, response, error, ...asked, ...sent };
  const ended: DeliveryAttempt = { attempt, begun: item.delivery, endedAt, chance: jitter };
  const mayBeOff = !isSuccess(posted) && target.endpoint?.kind !== "inbox";
  const isLast = mayBeOff && (await inTime(() => receiverCache.isOff(deps.store, item.delivery)));
  await record(recording, item, (fresh) => {
    // The reply to its end was lost: it counts once.
    if (hasAttempt(fresh, ended)) return null;
    const changes = afterAttempt(fresh, ended, deps.settings.webhookRetryScheduleMs);
    const set = { ...fresh, ...changes, url: target.url };
    return isLast ? cancelled(set) : set;
  });
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
  return { ...delivery, status, dueAt: null, byHand: false, resumeAt: null };
}

/**
 * Commits the end of an attempt, after which the delivery is no longer in hand. If somebody else changed the delivery meanwhile, decides on
 * its present state; null: that needs no change. An end that could not be recorded leaves the delivery in hand for a while: it is sent again then.
 */
export async function record(
  { deps, outcomes, queue, wake }: Recording,
  { delivery, row, heldUntil }: HeldDelivery,
  after: (fresh: Delivery) => Delivery | null,
): Promise<void> {
  const { id, lane } = delivery;
  let fresh: Delivery | null = delivery;
  let set = after(fresh);
  while (set !== null) {
    const outcome: DeliveryOutcome = { id, row, version: fresh.version, set };
    const finished = await commitInTime(deps, heldUntil, () => outcomes.finish(outcome));
    if (finished.result !== "changed") {
      fresh = finished.result === "ok" ? set : null;
      break;
    }
    fresh = finished.delivery;
    set = after(fresh);
  }
  const dueAt = fresh?.dueAt ?? null;
  queue.ended(id, dueAt);
  deps.attempted.notify(id, delivery.customerId);
  if (dueAt !== null && dueAt <= deps.clock.now()) wake(lane, fresh?.byHand ? [id] : []);
}
