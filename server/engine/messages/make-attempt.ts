/** Makes a send attempt: it is on disk before the provider is called, and so is its outcome before the next one. */

import type { Message } from "../../core/message.ts";
import { beginAttempt, type Change } from "../../core/message-lifecycle.ts";
import { type Outbound, type Outcome, outcomeOfRest, type Provider } from "../../providers/provider.ts";
import { findMessage } from "../../store/messages.ts";
import { withDeadline } from "../deadline.ts";
import type { Deps } from "../deps.ts";
import { changeContext, type EngineDeps } from "../engine-deps.ts";
import type { RunResult } from "../run-result.ts";
import { attemptLeaseMs, changeMessage, isAsClaimed } from "./change-message.ts";
import { conclude } from "./conclude.ts";
import { queueAgain } from "./end-attempt.ts";
import { MessageGone } from "./find.ts";
import {
  deferWhileDown,
  failIfOptedOut,
  failIfStranded,
  type Handling,
  outbound,
  type PreparedMessage,
  prepare,
} from "./prepare.ts";

/**
 * Sends a queued message:
 *
 * | Step | On disk then | If the process dies after it |
 * |---|---|---|
 * | `prepare` checks it and fetches its files | nothing | it is sent by the next process |
 * | the send attempt begins; if its record was refused, or the reply to it was lost, that is repeated | `pending`, with the account of this connection | its outcome is unknown: the provider is asked |
 * | its turn at the provider comes: earlier messages to its recipient have been given to theirs | | the same |
 * | the provider responds | nothing yet; after `accepted` its permit is free | the same |
 * | the outcome is concluded | the outcome and its consequences | nothing is left to do |
 */
export async function makeAttempt(deps: EngineDeps, claimed: Message, handling: Handling): Promise<RunResult> {
  const ready = await prepare(deps, claimed, handling);
  if (ready === null) return withdrawRecorded(deps, claimed, handling);
  try {
    return await attemptReady(deps, ready, handling);
  } finally {
    ready.release();
  }
}

async function attemptReady(
  deps: EngineDeps,
  { message, parts }: PreparedMessage,
  handling: Handling,
): Promise<RunResult> {
  const { abort, accepted, gives, progress, recorded, times } = handling;
  const connection = deps.connections.of(message.instanceId);
  if (connection === null) {
    // The instance was disconnected while files were fetched.
    await deferWhileDown(deps, message);
    return withdrawRecorded(deps, message, handling);
  }
  // Provider and account are read together, so the recorded account is the one that gets the message.
  const { provider, account } = connection;
  if (await failIfStranded(deps, message, connection)) return withdrawRecorded(deps, message, handling);
  let begun = false;
  let leasedUntil = 0;
  const { generation } = deps.threadCache;
  const attempted = await changeMessage(deps, message, (fresh) => {
    const change = isAsClaimed(fresh, message)
      ? beginAttempt(fresh, account, changeContext(deps))
      : resumeRecorded(fresh, account, recorded);
    begun = change !== null;
    if (change === null) return null;
    if (provider.capabilities.takesRuns === true) progress.begins();
    // It may have waited long: the lease begins with the attempt.
    const leaseMs = attemptLeaseMs(provider);
    leasedUntil = deps.clock.monotonic() + leaseMs;
    const claimedUntil = deps.clock.real() + leaseMs;
    recorded.add(claimedUntil);
    const also = deps.connections.requireOwner(provider);
    return { ...change, message: { ...change.message, claimedUntil }, also, gathered: true };
  });
  // Files may have taken long, and an opt-out holds from the moment that it is on disk.
  if (!begun) return withdrawRecorded(deps, message, handling);
  if (await failIfOptedOut(deps, attempted)) return "bad";
  // A reset of the sandbox after the attempt was recorded has removed the message.
  if (generation !== deps.threadCache.generation) await requireStored(deps, attempted);
  await progress.turn;
  times.asks();
  gives();
  const sending = send(deps, provider, outbound(deps, attempted, parts), abort);
  progress.given();
  const outcome = await sending;
  times.answered();
  if (outcome.outcome === "accepted") {
    accepted();
    // The next message of the pair begins its attempt in the transaction that concludes this one.
    progress.accepted();
  }
  const concluded = await conclude(deps, provider, attempted, outcome, leasedUntil);
  if (isDeferred(outcome) && concluded.status === "queued") handling.deferred(concluded.dueAt ?? deps.clock.now());
  if (outcome.outcome === "accepted") {
    deps.connections.reportUp(deps, attempted.instanceId, provider);
    return "good";
  }
  return "bad";
}

/** Whether the provider asks to repeat the message, or its rest. An instance that is down is none of that: its lane is paused. */
function isDeferred(outcome: Outcome): boolean {
  const rest = outcomeOfRest(outcome);
  return rest.outcome === "deferred" && rest.isDown !== true;
}

/** The change that lets an attempt begin whose record is on disk already, although the reply to it was lost; null if there is none. */
function resumeRecorded(fresh: Message, account: string | null, recorded: ReadonlySet<number>): Change | null {
  const { status, claimedUntil } = fresh;
  const isOurs =
    status === "pending" && claimedUntil !== null && recorded.has(claimedUntil) && fresh.account === account;
  return isOurs ? { message: fresh, events: [] } : null;
}

/** The timeline's reason for an attempt that was recorded and not made. */
const NOT_GIVEN = "the message was not given to its provider";

/**
 * Ends a run that does not give the message to its provider. An attempt that it has recorded, although the reply to that was lost, is
 * withdrawn: nobody makes it, and later messages would pass the message while its provider is asked about it.
 */
async function withdrawRecorded(
  deps: EngineDeps,
  message: Message,
  { recorded }: Pick<Handling, "recorded">,
): Promise<RunResult> {
  if (recorded.size === 0) return "bad";
  await changeMessage(deps, message, (fresh) =>
    fresh.claimedUntil !== null && recorded.has(fresh.claimedUntil) ? queueAgain(deps, fresh, NOT_GIVEN) : null,
  );
  return "bad";
}

/** Throws `MessageGone` if a reset of the sandbox removed the message. */
async function requireStored({ store }: Deps, { id }: Message): Promise<void> {
  if ((await findMessage(store.db, id)) === null) throw new MessageGone(id);
}

/** Sends the message. If anything goes wrong on the way, the message may have been sent: the outcome is `unknown`. */
async function send(deps: Deps, provider: Provider, message: Outbound, abort: AbortController): Promise<Outcome> {
  if (abort.signal.aborted) return { outcome: "deferred", retryAfterMs: 0, reason: "the service is stopping" };
  const late: Outcome = { outcome: "unknown", reason: "the provider did not respond in time" };
  try {
    const { sendTimeoutMs } = provider.capabilities;
    return await withDeadline(deps.clock, abort, (signal) => provider.send(message, signal), late, sendTimeoutMs);
  } catch (error) {
    deps.observer.fault("provider.send", error);
    return { outcome: "unknown", reason: "the send attempt failed midway" };
  }
}
