/** Hands due messages to their provider, and commits what came of it: the loop from `queued` to `sent`. */

import type { InstanceId, MessageId } from "../../core/id.ts";
import { type Message, pairOf } from "../../core/message.ts";
import { becomeDue, beginAttempt } from "../../core/message-lifecycle.ts";
import type { Outbound, Outcome, Provider } from "../../providers/provider.ts";
import { findLanesWithDueTimers, findMessage } from "../../store/messages.ts";
import { RowUnreadable } from "../../store/rows.ts";
import { withDeadline } from "../deadline.ts";
import type { Deps } from "../deps.ts";
import { changeContext, type EngineDeps, type With } from "../engine-deps.ts";
import { Lanes, type RunResult } from "../lanes.ts";
import { PausedLanes } from "../routing/paused-lanes.ts";
import { nextChannel, planOf, type RoutePlan, wayNow } from "../routing/route.ts";
import {
  attemptLeaseMs,
  changeMessage,
  hasLease,
  LEASE_MS,
  type MessageDecision,
  releaseLease,
} from "./change-message.ts";
import { conclude, giveUp } from "./conclude.ts";
import { MessageGone } from "./find.ts";
import { failsAsStranded, failsAsUnwanted, giveBack, type Hand, makeReady, outbound, type Ready } from "./prepare.ts";
import { Interrupted, reconcile } from "./reconcile.ts";

/** Messages at once that have a permit, all instances together. */
const HAND_OVERS_AT_ONCE_MAX = 256;
/** Messages at once of an instance that does not run: nothing is handed over, only what is due beside is looked at. */
const PERMITS_WITHOUT_PROVIDER = 16;
/**
 * What takes longer has no permit of its lane any more, in real milliseconds: a hand-over may take minutes, and so may the
 * waiting for its turn of what goes to the same recipient, and neither stops what goes to others.
 */
const PERMIT_MS = 40_000;

/** A message is looked at again after this when a record that it rests on cannot be decoded, in milliseconds. */
const PUT_OFF_MS = 60_000;

/** Frees the permit of a message in hand. */
type Free = (result: RunResult) => void;

/** A message in hand. */
interface Tail {
  lane: string;
  /** Resolves when the next may begin: it has ended, or its provider took it and that is being written. */
  passed: Promise<unknown>;
  /** Whether it has had its permit for as long as it may. */
  isLate: boolean;
}

/** The loop that drains due messages; a lane is a provider instance. */
export class Dispatch {
  readonly lanes: Lanes<Message>;
  readonly pausedLanes: PausedLanes;
  readonly #deps: EngineDeps;
  /** The last message in hand from each number to each recipient. */
  readonly #tails = new Map<string, Tail>();
  /** Each ends the waiting for one hand-over. */
  readonly #handOvers = new Set<AbortController>();
  readonly #gathering = new Set<MessageId>();
  /** Those that gave their permit up for as long as their files came: they go on without. */
  readonly #withoutPermit = new Set<Message>();
  readonly #interrupted: Interrupted;
  #stopped = false;

  constructor(deps: EngineDeps) {
    const { clock, observer } = deps;
    this.#deps = deps;
    this.#interrupted = new Interrupted(deps);
    this.pausedLanes = new PausedLanes(deps);
    this.lanes = new Lanes<Message>({
      clock,
      claim: (lanes) => this.#claim(lanes),
      dueLanes: () => this.#dueLanes(),
      // Customers may share an instance: its lane is nobody's.
      ownerOf: (lane) => lane,
      loadOwners: async () => {},
      laneOf: (message) => message.instanceId,
      run: (message, free) => this.#inOrder(message, free),
      // Of a pair nothing is claimed while one of it is in hand.
      mayFreeOthers: (message) => !this.#tails.has(pairOf(message)),
      fault: (error) => observer.fault("dispatch", error),
      inFlight: (count) => observer.inFlight("dispatch", count),
      permitsPerLane: (lane) => this.#permitsOf(lane as InstanceId),
      permitsMax: HAND_OVERS_AT_ONCE_MAX,
      shareOfFree: Number.POSITIVE_INFINITY,
    });
  }

  start(): void {
    this.lanes.start();
    this.pausedLanes.start();
  }

  /** Begins no further hand-over, and resolves when those under way have ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([this.lanes.stop(), this.pausedLanes.stop()]);
  }

  /** Of an instance that is down nothing is claimed that waits to be handed over: it keeps its place where it is. */
  async #claim(wanted: readonly { lane: string; permits: number }[]): Promise<Message[]> {
    await this.#interrupted.load();
    const { clock, store } = this.#deps;
    const lanes = wanted.map(({ lane, permits }) => ({ lane, permits, paused: !this.#isUp(lane) }));
    const waiting = this.#interrupted.waiting();
    return store.claimMessages({ lanes, now: clock.now(), until: clock.real() + LEASE_MS, waiting });
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
   * Says that lanes may have something due; `pair` where it is one message, from whom to whom. One that comes behind
   * others in hand is not looked for now: their lane is claimed when they have ended.
   */
  wake(lanes: Iterable<string>, pair?: string): void {
    const tail = pair === undefined ? undefined : this.#tails.get(pair);
    const wanted = [...lanes].filter((lane) => lane !== tail?.lane);
    if (wanted.length > 0) this.lanes.wake(wanted);
  }

  /** Waits no longer for the hand-overs under way: their outcome is unknown. */
  cutOff(): void {
    for (const abort of this.#handOvers) abort.abort();
  }

  /** Handles a message after those before it from the same number to the same recipient. */
  async #inOrder(message: Message, free: Free): Promise<RunResult> {
    const pair = pairOf(message);
    const before = this.#tails.get(pair) ?? { passed: Promise.resolve(), isLate: false };
    const { promise: taken, resolve: wasTaken } = Promise.withResolvers<void>();
    const handled = before.passed.then(() => this.#handle(message, free, wasTaken));
    const passed = Promise.race([taken, handled.catch(() => {})]);
    const tail: Tail = { lane: message.instanceId, passed, isLate: false };
    this.#tails.set(pair, tail);
    // Behind one that is late the waiting may take minutes, and would keep a permit from others, in other lanes too.
    const stopTimer = this.#deps.clock.after(before.isLate ? 0 : PERMIT_MS, () => {
      tail.isLate = true;
      free("bad");
    });
    try {
      return await handled;
    } finally {
      stopTimer();
      if (this.#tails.get(pair) === tail) this.#tails.delete(pair);
    }
  }

  async #handle(message: Message, free: Free, wasTaken: () => void): Promise<RunResult> {
    // It waited its turn while the process began to stop: its lease is ended by the next start.
    if (this.#stopped) return "bad";
    const abort = new AbortController();
    this.#handOvers.add(abort);
    try {
      const waitsForFiles = () => this.#waitForFiles(message, free);
      const hand = { abort, waitsForFiles, wasTaken, gathering: this.#gathering };
      const result = await lookAgain(this.#deps, message, hand);
      this.#interrupted.looked(message, result);
      return result;
    } catch (error) {
      if (error instanceof MessageGone) return "good";
      if (error instanceof RowUnreadable) return await putOff(this.#deps, message, error);
      throw error;
    } finally {
      this.#handOvers.delete(abort);
      this.#withoutPermit.delete(message);
    }
  }

  /**
   * While files come its permit is for messages that have none: unless one at a time tries the instance, or as many as it
   * takes at once are being handed over without one already, so that a burst of files is not given to it all at once.
   */
  #waitForFiles(message: Message, free: Free): void {
    const { instanceId } = message;
    const isInItsHands = (other: Message) => other.instanceId === instanceId && !this.#gathering.has(other.id);
    const others = [...this.#withoutPermit].filter(isInItsHands).length;
    const { clock, connections } = this.#deps;
    const isClosed = connections.breaker(instanceId).state(clock.now()) === "closed";
    if (!isClosed || others >= this.#permitsOf(instanceId)) return;
    this.#withoutPermit.add(message);
    free("bad");
  }

  #permitsOf(instanceId: InstanceId): number {
    const { clock, connections, providers } = this.#deps;
    const permitsMax = providers.get(instanceId)?.capabilities.concurrency ?? PERMITS_WITHOUT_PROVIDER;
    return connections.breaker(instanceId).permits(permitsMax, clock.now());
  }
}

/** A record that it rests on cannot be decoded: it waits, so that it takes no permit from others again and again. */
async function putOff(deps: With<"messageCache">, message: Message, error: RowUnreadable): Promise<RunResult> {
  deps.observer.fault("dispatch", error);
  const dueAt = deps.clock.now() + PUT_OFF_MS;
  await changeMessage(deps, message, (fresh) =>
    hasLease(fresh, message) ? { message: { ...fresh, dueAt, claimedUntil: null }, events: [] } : null,
  );
  return "bad";
}

/** What there is to do for a claimed message, by its status. */
async function lookAgain(deps: EngineDeps, message: Message, hand: Hand): Promise<RunResult> {
  switch (message.status) {
    case "scheduled": {
      // Routes may have changed since it was accepted, and who is up.
      const plan = await planOf(deps, message);
      const due = await changeMessage(deps, message, (fresh) =>
        // Whoever gave it another time in between took it out of this claim.
        hasLease(fresh, message)
          ? becomeDue(fresh, wayNow(deps, plan, fresh), deps.settings.messageTtlMs, changeContext(deps))
          : null,
      );
      if (due.status === "queued") deps.threadCache.senders.noteMessage(due.customerId, due.to, due.from);
      return "good";
    }
    case "queued":
      return handOverTo(deps, message, hand);
    case "pending":
      return reconcile(deps, message, hand.abort);
    case "sent": {
      const plan = await planOf(deps, message);
      await changeMessage(deps, message, (fresh) => noDelivery(deps, plan, fresh, message));
      return "good";
    }
    default:
      await changeMessage(deps, message, (fresh) => releaseLease(fresh, message));
      return "good";
  }
}

/** The time to wait for a delivery is over: the channel is given up, unless a receipt came first or there is no other. */
function noDelivery(
  deps: With<"connections" | "link">,
  plan: RoutePlan,
  message: Message,
  leased: Message,
): MessageDecision {
  if (message.status !== "sent" || nextChannel(deps, plan, message) === null) return releaseLease(message, leased);
  const cause = { code: "NO_CHANNEL_AVAILABLE", message: "No channel delivered it in time." } as const;
  return giveUp(deps, plan, message, "NO_DELIVERY", cause);
}

async function handOverTo(deps: EngineDeps, claimed: Message, hand: Hand): Promise<RunResult> {
  const ready = await makeReady(deps, claimed, hand);
  if (ready === null) return "bad";
  try {
    return await handOverReady(deps, ready, hand);
  } finally {
    ready.release();
  }
}

async function handOverReady(
  deps: EngineDeps,
  { message, gathered }: Ready,
  { abort, wasTaken }: Hand,
): Promise<RunResult> {
  const connection = deps.connections.of(message.instanceId);
  if (connection === null) {
    // It was taken down while files were fetched.
    await giveBack(deps, message);
    return "bad";
  }
  // Both as of one moment: what is recorded is whom it goes to.
  const { provider, account } = connection;
  if (await failsAsStranded(deps, message, connection)) return "bad";
  let begun = false;
  const { generation } = deps.threadCache;
  const handed = await changeMessage(deps, message, (fresh) => {
    const change = hasLease(fresh, message) ? beginAttempt(fresh, account, changeContext(deps)) : null;
    begun = change !== null;
    if (change === null) return releaseLease(fresh, message);
    // It may have waited its turn for long: the lease begins with the hand-over.
    const claimedUntil = deps.clock.real() + attemptLeaseMs(provider);
    return { ...change, message: { ...change.message, claimedUntil } };
  });
  // Files may have taken long, and STOP holds from the moment that it is on disk.
  if (!begun || (await failsAsUnwanted(deps, handed))) return "bad";
  // A reset that came after the record was written has removed it, and what phones take from now on is of nothing.
  if (generation !== deps.threadCache.generation) await requireMessage(deps, handed);
  const outcome = await send(deps, provider, outbound(deps, handed, gathered), abort);
  // The next of its pair begins in the commit that this one is concluded in.
  if (outcome.outcome === "accepted") wasTaken();
  await conclude(deps, provider, handed, outcome);
  if (outcome.outcome === "accepted") {
    deps.connections.reportUp(deps, handed.instanceId, provider);
    return "good";
  }
  return "bad";
}

/** Throws `MessageGone` for a message that a reset of the sandbox removed. */
async function requireMessage({ store }: Deps, { id }: Message): Promise<void> {
  if ((await findMessage(store.db, id)) === null) throw new MessageGone(id);
}

/** Hands it over. Whatever goes wrong on the way, it may have been sent: that is `unknown`. */
async function send(deps: Deps, provider: Provider, message: Outbound, abort: AbortController): Promise<Outcome> {
  if (abort.signal.aborted) return { outcome: "deferred", retryAfterMs: 0, reason: "the service stopped before it" };
  const late: Outcome = { outcome: "unknown", reason: "the provider did not answer in time" };
  try {
    const { sendTimeoutMs } = provider.capabilities;
    return await withDeadline(deps.clock, abort, (signal) => provider.send(message, signal), late, sendTimeoutMs);
  } catch (error) {
    deps.observer.fault("provider.send", error);
    return { outcome: "unknown", reason: "the hand-over broke off" };
  }
}
