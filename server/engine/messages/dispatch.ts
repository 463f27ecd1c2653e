/** The loop that sends due messages: each goes from `queued` to `pending`, then by its outcome to `sent`, `queued`, `failed` or unknown. */

import type { InstanceId, MessageId } from "../../core/id.ts";
import { type Message, pairOf } from "../../core/message.ts";
import { becomeDue, beginAttempt } from "../../core/message-lifecycle.ts";
import type { Outbound, Outcome, Provider } from "../../providers/provider.ts";
import { findLanesWithDueTimers, findMessage } from "../../store/messages.ts";
import { RowUnreadable } from "../../store/rows.ts";
import type { ClaimedMessage } from "../../store/store.ts";
import { withDeadline } from "../deadline.ts";
import type { Deps } from "../deps.ts";
import type { ClaimedItems } from "../drain.ts";
import { changeContext, type EngineDeps, type With } from "../engine-deps.ts";
import type { RunTimes } from "../lane-lag.ts";
import { Lanes } from "../lanes.ts";
import { PausedLanes } from "../routing/paused-lanes.ts";
import { nextChannel, planOf, type RoutePlan, wayNow } from "../routing/route.ts";
import type { RunResult } from "../run-result.ts";
import {
  attemptLeaseMs,
  changeMessage,
  isAsClaimed,
  LEASE_MS,
  leaveQueue,
  type MessageDecision,
} from "./change-message.ts";
import { conclude, giveUp } from "./conclude.ts";
import { MessageGone } from "./find.ts";
import { PairOrder, type ReleasePermit } from "./pair-order.ts";
import {
  deferWhileDown,
  failIfOptedOut,
  failIfStranded,
  type Handling,
  outbound,
  type PreparedMessage,
  prepare,
  type SendProgress,
} from "./prepare.ts";
import { InterruptedPairs, reconcile } from "./reconcile.ts";

/** Messages at once with a permit, all instances together. */
const PERMITS_MAX = 256;
/** Permits of an instance that does not run: no message is sent, only due timers are handled. */
const PERMITS_WITHOUT_PROVIDER = 16;
/** The most messages to one recipient whose attempts begin together, if the provider takes runs. */
const RUN_MAX = 64;

/** A message that needs an undecodable record is tried again after this, in milliseconds. */
const UNREADABLE_RETRY_MS = 60_000;

/** A claimed message. */
interface LeasedMessage extends ClaimedMessage {
  /** Monotonic time. */
  leasedUntil: number;
}

/** Sends due messages; a lane is a provider instance. */
export class Dispatch {
  readonly lanes: Lanes<LeasedMessage>;
  readonly pausedLanes: PausedLanes;
  readonly #deps: EngineDeps;
  readonly #order: PairOrder;
  /** Each aborts one send attempt or lookup. */
  readonly #aborts = new Set<AbortController>();
  readonly #fetching = new Set<MessageId>();
  /** Messages with files that released their permit while the files were fetched. */
  readonly #withoutPermit = new Set<Message>();
  readonly #interrupted: InterruptedPairs;
  /** Leases of messages that were handled, to be released with the others of this turn of the event loop. */
  #ended: number[] = [];
  #stopped = false;

  constructor(deps: EngineDeps) {
    const { clock, observer } = deps;
    this.#deps = deps;
    this.#order = new PairOrder(clock);
    this.#interrupted = new InterruptedPairs(deps);
    this.pausedLanes = new PausedLanes(deps);
    this.lanes = new Lanes<LeasedMessage>({
      clock,
      claim: (lanes) => this.#claim(lanes),
      dueLanes: () => this.#dueLanes(),
      // Customers may share an instance: a lane has no owner but itself.
      ownerOf: (lane) => lane,
      loadOwners: async () => {},
      release: (items) => {
        for (const { lease } of items) this.#release(lease);
      },
      laneOf: ({ message }) => message.instanceId,
      dueAtOf: ({ message }) => message.dueAt ?? clock.now(),
      takesMore: (lane) => this.#takesMore(lane as InstanceId),
      // Messages of a pair are sent in the order of their claim by `PairOrder`, which also holds across lanes.
      orderingKeyOf: () => null,
      isStale: ({ leasedUntil }) => leasedUntil < clock.monotonic(),
      prefetch: 0,
      run: (leased, release, times) => this.#run(leased, release, times),
      // Nothing of a pair is claimed while a message of the pair is in progress.
      mayFreeOthers: ({ message }) => this.#order.laneOf(pairOf(message)) === undefined,
      fault: (error) => observer.fault("dispatch", error),
      inFlight: (count) => observer.inFlight("dispatch", count),
      permitsPerLane: (lane) => this.#permitsOf(lane as InstanceId),
      permitsMax: PERMITS_MAX,
      shareOfFree: Number.POSITIVE_INFINITY,
    });
  }

  start(): void {
    this.lanes.start();
    this.pausedLanes.start();
  }

  /** Begins no further send attempt, and resolves when the attempts in progress have ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([this.lanes.stop(), this.pausedLanes.stop()]);
  }

  /** Claims messages. The lane of an instance that is down is paused: its queued messages keep their places. */
  async #claim(wanted: readonly { lane: string; permits: number }[]): Promise<ClaimedItems<LeasedMessage>> {
    await this.#interrupted.load();
    const { clock, store } = this.#deps;
    const lanes = wanted.map((each) => ({ ...each, paused: !this.#isUp(each.lane), ...this.#runOf(each.lane) }));
    const waiting = this.#interrupted.waiting();
    this.#releaseEnded();
    const leasedUntil = clock.monotonic() + LEASE_MS;
    const { claimed, more } = await store.claimMessages({ lanes, now: clock.now(), leaseMs: LEASE_MS, waiting });
    return { items: claimed.map((one) => ({ ...one, leasedUntil })), more };
  }

  #runOf(lane: string): { runMax?: number } {
    const takesRuns = this.#deps.providers.get(lane as InstanceId)?.capabilities.takesRuns === true;
    return takesRuns ? { runMax: RUN_MAX } : {};
  }

  /** Releases leases once a turn of the event loop. */
  #release(lease: number): void {
    this.#ended.push(lease);
    if (this.#ended.length === 1) setImmediate(() => this.#releaseEnded());
  }

  #releaseEnded(): void {
    if (this.#ended.length === 0) return;
    const leases = this.#ended;
    this.#ended = [];
    this.#deps.store
      .release("messages", leases)
      .catch((error: unknown) => this.#deps.observer.fault("dispatch", error));
  }

  async #dueLanes(): Promise<string[]> {
    const { clock, store } = this.#deps;
    const due = (await store.dueLanes("messages", clock.now())).map(({ lane }) => lane);
    const [up, down] = [due.filter((lane) => this.#isUp(lane)), due.filter((lane) => !this.#isUp(lane))];
    return [...up, ...(await findLanesWithDueTimers(store.db, down as InstanceId[], clock.now()))];
  }

  #isUp(lane: string): boolean {
    return this.#deps.connections.isUp(this.#deps, lane as InstanceId);
  }

  /**
   * Lanes may have something due. `pair`: sender and recipient, if only one message is due. A message behind others in progress
   * needs no claim now: its lane is claimed when they have ended.
   */
  wake(lanes: Iterable<string>, pair?: string): void {
    const last = pair === undefined ? undefined : this.#order.laneOf(pair);
    const wanted = [...lanes].filter((lane) => lane !== last);
    if (wanted.length > 0) this.lanes.wake(wanted);
  }

  /** Aborts the send attempts in progress: their outcome is unknown. */
  cutOff(): void {
    for (const abort of this.#aborts) abort.abort();
  }

  /** Handles a message and releases its lease. If that throws, the lease runs out by itself: nothing is tried again at once. */
  async #run(leased: LeasedMessage, release: ReleasePermit, times: RunTimes): Promise<RunResult> {
    times.asks();
    const handle = (progress: SendProgress) => {
      times.begins();
      return this.#handle(leased, release, { progress, times });
    };
    const result = await this.#order.run(leased.message, release, handle);
    this.#release(leased.lease);
    return result;
  }

  async #handle(
    { message, leasedUntil }: LeasedMessage,
    release: ReleasePermit,
    { progress, times }: Pick<Handling, "progress" | "times">,
  ): Promise<RunResult> {
    // The process began to stop while the message waited: it is due at the next start.
    if (this.#stopped) return "bad";
    // It waited for another message of its pair until its lease ended, or until something else had decided about it.
    if (leasedUntil < this.#deps.clock.monotonic() || this.#hasChanged(message)) return "bad";
    const abort = new AbortController();
    this.#aborts.add(abort);
    try {
      const waitsForFiles = () => this.#waitForFiles(message, release);
      const handling = { leasedUntil, abort, waitsForFiles, progress, times, fetching: this.#fetching };
      const result = await handleClaimed(this.#deps, message, handling);
      this.#interrupted.handled(message, result);
      return result;
    } catch (error) {
      if (error instanceof MessageGone) return "good";
      if (error instanceof RowUnreadable) return await postponeUnreadable(this.#deps, message, error);
      throw error;
    } finally {
      this.#aborts.delete(abort);
      this.#withoutPermit.delete(message);
    }
  }

  #hasChanged(claimed: Message): boolean {
    const known = this.#deps.messageCache.get(claimed.id);
    return known !== null && known.version > claimed.version && !isAsClaimed(known, claimed);
  }

  /**
   * Releases the permit of a message while its files are fetched. Not if its instance's breaker is not closed, since one
   * message probes the instance, nor if as many such messages as the instance takes at once are being sent already: a burst of
   * files must not reach the provider all at once.
   */
  #waitForFiles(message: Message, release: ReleasePermit): void {
    const { instanceId } = message;
    const isBeingSent = (other: Message) => other.instanceId === instanceId && !this.#fetching.has(other.id);
    const others = [...this.#withoutPermit].filter(isBeingSent).length;
    if (!this.#isClosed(instanceId) || others >= this.#permitsOf(instanceId)) return;
    this.#withoutPermit.add(message);
    release("bad");
  }

  /** Whether an instance takes messages as usual. */
  #takesMore(instanceId: InstanceId): boolean {
    const isAtLimit = this.#deps.providers.get(instanceId)?.isAtLimit === true;
    return this.#isUp(instanceId) && this.#isClosed(instanceId) && !isAtLimit;
  }

  /** Whether the circuit breaker of an instance is closed. */
  #isClosed(instanceId: InstanceId): boolean {
    const { clock, connections } = this.#deps;
    return connections.breaker(instanceId).state(clock.now()) === "closed";
  }

  #permitsOf(instanceId: InstanceId): number {
    const { clock, connections, providers } = this.#deps;
    const permitsMax = providers.get(instanceId)?.capabilities.concurrency ?? PERMITS_WITHOUT_PROVIDER;
    return connections.breaker(instanceId).permits(permitsMax, clock.now());
  }
}

/** Postpones a message that needs an undecodable record, so that it does not take a permit again and again. */
async function postponeUnreadable(
  deps: With<"messageCache">,
  message: Message,
  error: RowUnreadable,
): Promise<RunResult> {
  deps.observer.fault("dispatch", error);
  const dueAt = deps.clock.now() + UNREADABLE_RETRY_MS;
  await changeMessage(deps, message, (fresh) =>
    isAsClaimed(fresh, message) ? { message: { ...fresh, dueAt }, events: [] } : null,
  );
  return "bad";
}

/** Handles a claimed message by its status. */
async function handleClaimed(deps: EngineDeps, message: Message, handling: Handling): Promise<RunResult> {
  switch (message.status) {
    case "scheduled": {
      // Routes and instances may have changed since the message was accepted.
      const plan = await planOf(deps, message);
      const due = await changeMessage(deps, message, (fresh) =>
        // A change of its time ends this claim.
        isAsClaimed(fresh, message)
          ? becomeDue(fresh, wayNow(deps, plan, fresh), deps.settings.messageTtlMs, changeContext(deps))
          : null,
      );
      if (due.status === "queued") deps.threadCache.senders.noteMessage(due.customerId, due.to, due.from);
      return "good";
    }
    case "queued":
      return attempt(deps, message, handling);
    case "pending":
      return reconcile(deps, message, handling);
    case "sent": {
      const plan = await planOf(deps, message);
      await changeMessage(deps, message, (fresh) => noReceipt(deps, plan, fresh, message));
      return "good";
    }
    default:
      await changeMessage(deps, message, (fresh) => leaveQueue(fresh, message));
      return "good";
  }
}

/** No receipt of delivery came in time: gives the channel up, unless a receipt came first or no other channel is left. */
function noReceipt(
  deps: With<"connections" | "link">,
  plan: RoutePlan,
  message: Message,
  claimed: Message,
): MessageDecision {
  if (!isAsClaimed(message, claimed)) return null;
  if (nextChannel(deps, plan, message) === null) return leaveQueue(message, claimed);
  const cause = { code: "NO_CHANNEL_AVAILABLE", message: "No channel delivered it in time." } as const;
  return giveUp(deps, plan, message, "NO_DELIVERY", cause);
}

async function attempt(deps: EngineDeps, claimed: Message, handling: Handling): Promise<RunResult> {
  const ready = await prepare(deps, claimed, handling);
  if (ready === null) return "bad";
  try {
    return await attemptReady(deps, ready, handling);
  } finally {
    ready.release();
  }
}

async function attemptReady(
  deps: EngineDeps,
  { message, parts }: PreparedMessage,
  { abort, progress, times }: Handling,
): Promise<RunResult> {
  const connection = deps.connections.of(message.instanceId);
  if (connection === null) {
    // The instance was disconnected while files were fetched.
    await deferWhileDown(deps, message);
    return "bad";
  }
  // Provider and account are read together, so the recorded account is the one that gets the message.
  const { provider, account } = connection;
  if (await failIfStranded(deps, message, connection)) return "bad";
  let begun = false;
  let leasedUntil = 0;
  const { generation } = deps.threadCache;
  const attempted = await changeMessage(deps, message, (fresh) => {
    const change = isAsClaimed(fresh, message) ? beginAttempt(fresh, account, changeContext(deps)) : null;
    begun = change !== null;
    if (change === null) return null;
    if (provider.capabilities.takesRuns === true) progress.begins();
    // It may have waited long: the lease begins with the attempt.
    const leaseMs = attemptLeaseMs(provider);
    leasedUntil = deps.clock.monotonic() + leaseMs;
    const claimedUntil = deps.clock.real() + leaseMs;
    return { ...change, message: { ...change.message, claimedUntil }, gathered: true };
  });
  // Files may have taken long, and an opt-out holds from the moment that it is on disk.
  if (!begun || (await failIfOptedOut(deps, attempted))) return "bad";
  // A reset of the sandbox after the attempt was recorded has removed the message.
  if (generation !== deps.threadCache.generation) await requireStored(deps, attempted);
  await progress.turn;
  times.asks();
  const sending = send(deps, provider, outbound(deps, attempted, parts), abort);
  progress.given();
  const outcome = await sending;
  times.answered();
  // The next message of the pair begins its attempt in the transaction that concludes this one.
  if (outcome.outcome === "accepted") progress.accepted();
  await conclude(deps, provider, attempted, outcome, leasedUntil);
  if (outcome.outcome === "accepted") {
    deps.connections.reportUp(deps, attempted.instanceId, provider);
    return "good";
  }
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
