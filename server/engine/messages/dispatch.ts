/** The loop that sends due messages: it claims them, and each is handled under a permit and a lease, those to one recipient in order. */

import type { InstanceId, MessageId } from "../../core/id.ts";
import { type Message, pairOf } from "../../core/message.ts";
import { findLanesWithDueTimers } from "../../store/messages.ts";
import { RowUnreadable } from "../../store/rows.ts";
import type { ClaimedMessage, MessageLane } from "../../store/store.ts";
import { repeatWhileRefused } from "../commit.ts";
import type { ClaimedItems } from "../drain.ts";
import type { EngineDeps } from "../engine-deps.ts";
import type { RunTimes } from "../lane-lag.ts";
import { Lanes } from "../lanes.ts";
import { PausedLanes } from "../routing/paused-lanes.ts";
import type { RunResult } from "../run-result.ts";
import { UnrecordedResponses } from "../unrecorded.ts";
import { isAsClaimed, LEASE_MS } from "./change-message.ts";
import { handleClaimed, handleError } from "./handle-claimed.ts";
import { PairOrder, type ReleasePermit } from "./pair-order.ts";
import type { Handling, SendProgress } from "./prepare.ts";
import { WaitingPairs } from "./reconcile.ts";

/** Messages at once with a permit, all instances together. */
const PERMITS_MAX = 256;
/** Permits of an instance that does not run: no message is sent, only due timers are handled. */
const PERMITS_WITHOUT_PROVIDER = 16;
/** The most messages to one recipient whose attempts begin together, if the provider takes runs. */
const RUN_MAX = 64;
/** Messages that a lane claims ahead of its permits, at most as many as it sends in this time, in milliseconds. */
const PREFETCH = 64;
const PREFETCH_MS = 100;
/** Messages of an instance that are accepted and whose outcome is not on disk; beyond them a message keeps its permit until it is. */
const UNRECORDED_MAX = 64;

/** The handling of a message is not repeated if its lease lasts less, in milliseconds. */
const REPEAT_MS_MIN = 5_000;

/** A claimed message. */
interface LeasedMessage extends ClaimedMessage {
  /** Monotonic time. */
  leasedUntil: number;
}

/**
 * Sends due messages; a lane is a provider instance. A claimed message goes through these states:
 *
 * | State | Goes on when | Goes back to the queue, as due as before, if |
 * |---|---|---|
 * | claimed | it gets a permit of its instance | its lease has ended, its instance is down, or the process stops |
 * | waits for its turn | the earlier messages of its sender and recipient have passed (`PairOrder`) | its lease has ended, something else has decided about it, the store refused an earlier one for now, a provider deferred an earlier one (`WaitingPairs`), or the process stops |
 * | is handled (`handleClaimed`), again each second while the store refuses it and it was not given to its provider | its next state is on disk, whatever it is | an error is thrown: its lease runs out by itself |
 *
 * It holds its permit from the first state to the end of the last. It goes on without it while its files are fetched, once its
 * provider has accepted it, and after 40 s.
 */
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
  /** Messages that were accepted and whose outcome is not on disk, by instance. */
  readonly #unrecorded = new UnrecordedResponses(UNRECORDED_MAX);
  readonly #waiting: WaitingPairs;
  /** How many messages of each instance are handled. */
  readonly #handled = new Map<InstanceId, number>();
  /** Leases of messages that were handled, to be released with the others of this turn of the event loop. */
  #ended: number[] = [];
  #stopped = false;

  constructor(deps: EngineDeps) {
    const { clock, observer } = deps;
    this.#deps = deps;
    this.#order = new PairOrder(clock);
    this.#waiting = new WaitingPairs(deps);
    this.pausedLanes = new PausedLanes(deps);
    this.lanes = new Lanes<LeasedMessage>({
      clock,
      claim: (lanes) => this.#claim(lanes),
      dueLanes: (took) => this.#dueLanes(took),
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
      isStale: (leased) => this.#isStale(leased),
      prefetch: PREFETCH,
      prefetchMs: PREFETCH_MS,
      run: (leased, release, times) => this.#run(leased, release, times),
      // Nothing of a pair but lookups is claimed while a message of the pair is in progress, lookups aside.
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
    const { clock, messageCache, store } = this.#deps;
    const lanes = wanted
      .filter(({ lane }) => this.#isServed(lane))
      .map((each) => ({
        ...each,
        paused: !this.#isUp(each.lane),
        ...this.#runOf(each.lane),
        ...this.#epochOf(each.lane),
      }));
    await this.#waiting.load(lanes.map(({ lane }) => lane as InstanceId));
    const waiting = this.#waiting.waiting();
    this.#releaseEnded();
    const leasedUntil = clock.monotonic() + LEASE_MS;
    const { claimed, more } = await store.claimMessages({ lanes, now: clock.now(), leaseMs: LEASE_MS, waiting });
    for (const { message } of claimed) messageCache.keepClaimed(message);
    return { items: claimed.map((one) => ({ ...one, leasedUntil })), more };
  }

  #runOf(lane: string): { runMax?: number } {
    const takesRuns = this.#deps.providers.get(lane as InstanceId)?.capabilities.takesRuns === true;
    return takesRuns ? { runMax: RUN_MAX } : {};
  }

  /** Whether the lane is this process's to work on. */
  #isServed(lane: string): boolean {
    return this.#deps.membership.servesSince(lane as InstanceId) !== null;
  }

  #epochOf(lane: string): Pick<MessageLane, "required"> {
    const required = this.#deps.membership.epochOf(lane as InstanceId);
    return required === null ? {} : { required };
  }

  /** Whether a message of the instance is being handled. */
  isHandling(instanceId: InstanceId): boolean {
    return this.#handled.has(instanceId);
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
    this.#deps.store.release(leases).catch((error: unknown) => this.#deps.observer.fault("dispatch", error));
  }

  async #dueLanes(took: (ms: number) => void): Promise<string[]> {
    const { clock, store } = this.#deps;
    const due = (await store.dueLanes("messages", clock.now(), took))
      .map(({ lane }) => lane)
      .filter((lane) => this.#isServed(lane));
    const [up, down] = [due.filter((lane) => this.#isUp(lane)), due.filter((lane) => !this.#isUp(lane))];
    return [...up, ...(await findLanesWithDueTimers(store.looks, down as InstanceId[], clock.now()))];
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
    if (wanted.length === 0) return;
    for (const lane of wanted) this.#giveBackIfDown(lane);
    this.lanes.wake(wanted);
  }

  /** The messages that wait for a permit of an instance that is down go back to the queue: they may move to another instance. */
  #giveBackIfDown(lane: string): void {
    if (!this.#isUp(lane)) this.lanes.giveBack(lane);
  }

  /** Aborts the send attempts in progress: their outcome is unknown. */
  cutOff(): void {
    for (const abort of this.#aborts) abort.abort();
  }

  /** Handles a message and releases its lease. If that throws, the lease runs out by itself: nothing is tried again at once. */
  async #run(leased: LeasedMessage, release: ReleasePermit, times: RunTimes): Promise<RunResult> {
    const { message, lease } = leased;
    times.asks();
    const handle = async (progress: SendProgress): Promise<RunResult> => {
      times.begins();
      if (!this.#mayBegin(leased)) return "bad";
      this.#count(message.instanceId, 1);
      try {
        return await this.#handle(leased, release, { progress, times });
      } finally {
        this.#count(message.instanceId, -1);
      }
    };
    const result = await this.#order.run(message, release, handle);
    this.#release(lease);
    this.#giveBackIfDown(message.instanceId);
    return result;
  }

  #count(instanceId: InstanceId, change: number): void {
    const count = (this.#handled.get(instanceId) ?? 0) + change;
    if (count === 0) this.#handled.delete(instanceId);
    else this.#handled.set(instanceId, count);
  }

  async #handle(
    { message, leasedUntil }: LeasedMessage,
    release: ReleasePermit,
    { progress, times }: Pick<Handling, "progress" | "times">,
  ): Promise<RunResult> {
    const { instanceId } = message;
    const abort = new AbortController();
    this.#aborts.add(abort);
    let isAccepted = false;
    const accepted = () => {
      isAccepted = true;
      // The message that probes an instance keeps its permit until the breaker is closed.
      if (this.#unrecorded.add(instanceId) && this.#isClosed(instanceId)) release("good");
    };
    const waitsForFiles = () => this.#waitForFiles(message, release);
    let isGiven = false;
    const gives = () => {
      isGiven = true;
    };
    let deferredUntil: number | null = null;
    const deferred = (dueAt: number) => {
      deferredUntil = dueAt;
    };
    const recorded = new Set<number>();
    const told = { waitsForFiles, gives, accepted, deferred };
    const handling = { leasedUntil, abort, recorded, ...told, progress, times, fetching: this.#fetching };
    // While the database is out of reach the message stays in hand, so that it keeps its place.
    const mayBeRepeated = () =>
      !isGiven && !this.#stopped && leasedUntil - REPEAT_MS_MIN > this.#deps.clock.monotonic();
    try {
      const result = await repeatWhileRefused(this.#deps, mayBeRepeated, () =>
        handleClaimed(this.#deps, message, handling),
      );
      this.#waiting.handled(message, result, deferredUntil);
      return result;
    } catch (error) {
      if (error instanceof RowUnreadable) this.#deps.observer.fault("dispatch", error);
      return await handleError(this.#deps, message, error);
    } finally {
      this.#aborts.delete(abort);
      this.#withoutPermit.delete(message);
      if (isAccepted) this.#unrecorded.remove(instanceId);
    }
  }

  /** Whether a message may be handled now that its turn has come. If not, it is left to a later claim, or to the next process. */
  #mayBegin(leased: LeasedMessage): boolean {
    const { message } = leased;
    if (this.#stopped || !this.#isServed(message.instanceId) || this.#isStale(leased)) return false;
    return !this.#hasChanged(message) && !this.#waiting.holds(message);
  }

  /** Whether the lease of a message has ended: it may be claimed again, so nothing begins with it any more. */
  #isStale({ leasedUntil }: LeasedMessage): boolean {
    return leasedUntil < this.#deps.clock.monotonic();
  }

  /** Whether something else has decided about a message since it was claimed. */
  #hasChanged(claimed: Message): boolean {
    const { messageCache } = this.#deps;
    if (!messageCache.hasChangedSince(claimed)) return false;
    const known = messageCache.get(claimed.id);
    return known === null || !isAsClaimed(known, claimed);
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
