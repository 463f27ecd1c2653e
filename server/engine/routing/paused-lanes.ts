/** Looks after messages in paused lanes, whose instances are down: expires them in time, and moves them to other instances where possible. */

import type { InstanceId } from "../../core/id.ts";
import { FAILED_LOOK_PAUSE_MS, pauseAfterLook } from "../../core/look-pause.ts";
import { type Message, pairOf } from "../../core/message.ts";
import { type Change, fail } from "../../core/message-lifecycle.ts";
import { hasInstance } from "../../store/instances.ts";
import { listWaiting, positionAfter, type QueuePosition } from "../../store/messages.ts";
import type { Operation } from "../../store/store.ts";
import { RequirementUnmet } from "../commit.ts";
import { changeContext, type With } from "../engine-deps.ts";
import { changeMessage, type MessageDecision } from "../messages/change-message.ts";
import { MessageGone } from "../messages/find.ts";
import { expiryOf, STRANDED } from "../messages/prepare.ts";
import { nullIfUnreadable } from "../unreadable.ts";
import { moveInstead, planOf, type RoutePlan } from "./route.ts";

/** How often the oldest messages of each paused lane are checked, in real milliseconds. */
const LOOK_EVERY_MS = 1_000;
/** How often all messages of paused lanes are checked, besides each time an instance goes up or down, in real milliseconds. */
const WALK_EVERY_MS = 60_000;
/** After a start instances have this long to connect before their messages move, in real milliseconds. */
const CONNECTING_MS = 5_000;
/** Messages read at once. */
const PAGE = 200;
/** Pages of one lane before the next lane is served. */
const PAGES_IN_TURN = 10;

/** A pass through a lane: its position, and whether another pass follows. */
interface LaneWalk {
  after: QueuePosition | null;
  again: boolean;
}

type PausedLanesDeps = With<"configCache" | "connections" | "link" | "membership" | "messageCache" | "providers">;

export class PausedLanes {
  readonly #deps: PausedLanesDeps;
  /** The passes in progress. */
  readonly #walks = new Map<InstanceId, LaneWalk>();
  #walkedAt = Number.NEGATIVE_INFINITY;
  #isWoken = false;
  #running: Promise<void> | null = null;
  #isReady = false;
  #stopped = true;
  #cancel: () => void = () => {};

  constructor(deps: PausedLanesDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#stopped = false;
    this.#later(CONNECTING_MS);
  }

  /** Checks all waiting messages: an instance went up or down, or routes changed. */
  wake(): void {
    this.#isWoken = true;
    if (!this.#isReady || this.#running !== null) return;
    this.#cancel();
    this.#later(0);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#running;
  }

  #later(ms: number): void {
    if (this.#stopped) return;
    this.#cancel = this.#deps.clock.after(ms, () => {
      this.#isReady = true;
      this.#running = this.#run();
    });
  }

  async #run(): Promise<void> {
    let nextMs = FAILED_LOOK_PAUSE_MS;
    try {
      const { more, listMs } = await this.#look();
      nextMs = more || this.#isWoken ? 0 : pauseAfterLook(listMs, LOOK_EVERY_MS);
    } catch (error) {
      this.#deps.observer.fault("paused-lanes", error);
    }
    this.#running = null;
    this.#later(nextMs);
  }

  /** Returns whether there is more to do at once, and how long the list of due lanes took. */
  async #look(): Promise<{ more: boolean; listMs: number }> {
    const { clock, connections, store } = this.#deps;
    const startedAt = clock.monotonic();
    let costMs: number | null = null;
    const took = (ms: number) => {
      costMs = ms;
    };
    const due = (await store.dueLanes("messages", clock.now(), took)).map(({ lane }) => lane as InstanceId);
    const listMs = costMs ?? clock.monotonic() - startedAt;
    const paused = due.filter((lane) => this.#isReadyFor(lane) && !connections.isUp(this.#deps, lane));
    if (this.#isWoken || clock.real() - this.#walkedAt >= WALK_EVERY_MS) this.#beginWalks(paused);
    for (const lane of this.#walks.keys()) if (!paused.includes(lane)) this.#walks.delete(lane);
    let more = false;
    for (const lane of paused) more = (await this.#lookAt(lane)) || more;
    return { more, listMs };
  }

  /** Whether the lane is this process's, and its instance had time to connect. */
  #isReadyFor(lane: InstanceId): boolean {
    const { clock, membership } = this.#deps;
    const since = membership.servesSince(lane);
    return since !== null && clock.monotonic() - since >= CONNECTING_MS;
  }

  #beginWalks(lanes: readonly InstanceId[]): void {
    this.#isWoken = false;
    this.#walkedAt = this.#deps.clock.real();
    for (const lane of lanes) {
      const walk = this.#walks.get(lane);
      if (walk === undefined) this.#walks.set(lane, { after: null, again: false });
      else walk.again = true;
    }
  }

  /**
   * Checks the oldest messages of a lane, then continues its pass. Returns whether a message ended or moved and more
   * are left.
   */
  async #lookAt(lane: InstanceId): Promise<boolean> {
    const oldest = await this.#page(lane, null);
    if (oldest.gone > 0) return oldest.isFull;
    const walk = this.#walks.get(lane);
    for (let pages = 0; walk !== undefined && pages < PAGES_IN_TURN && !this.#stopped; pages += 1) {
      const page = await this.#page(lane, walk.after);
      walk.after = page.last;
      if (!page.isFull) this.#endWalk(lane, walk);
      if (!page.isFull || page.gone > 0) return page.isFull;
    }
    return false;
  }

  #endWalk(lane: InstanceId, { again }: LaneWalk): void {
    if (again) this.#walks.set(lane, { after: null, again: false });
    else this.#walks.delete(lane);
  }

  async #page(lane: InstanceId, after: QueuePosition | null) {
    const { clock, store } = this.#deps;
    // Read before the messages, so that a message whose lease ends in between is in the page.
    const inProgress = new Set((await store.leasedPairs(lane)).map(pairOf));
    const messages = await listWaiting(store.db, lane, clock.now(), after, PAGE);
    const pairs = [...Map.groupBy(messages, pairOf)].filter(([pair]) => !inProgress.has(pair));
    const gone = await Promise.all(pairs.map(([, pair]) => this.#inOrder(pair)));
    const last = positionAfter(messages);
    return { gone: gone.reduce((sum, count) => sum + count, 0), last, isFull: messages.length === PAGE };
  }

  /**
   * Handles messages from one number to one recipient in sequence, so that they keep their order in the other lane. If
   * one of them is in progress, the others wait for its outcome.
   */
  async #inOrder(messages: readonly Message[]): Promise<number> {
    let gone = 0;
    for (const message of messages) if (!this.#stopped && (await this.#goOn(message))) gone += 1;
    return gone;
  }

  /** Fails a message that waited too long, or moves it. Returns whether it did either. */
  async #goOn(message: Message): Promise<boolean> {
    const deps = this.#deps;
    // An undecodable record of one customer must not keep the messages of others waiting.
    const plan = await nullIfUnreadable(deps, "paused-lanes", () => planOf(deps, message));
    if (plan === null) return false;
    const isGone = message.sentPart !== null && !(await hasInstance(deps.store.db, message.instanceId));
    if (verdictOn(deps, plan, message, isGone) === null) return false;
    try {
      await changeMessage(deps, message, (fresh) => verdictOn(deps, plan, fresh, isGone));
    } catch (error) {
      if (error instanceof RequirementUnmet) return false;
      if (!(error instanceof MessageGone)) throw error;
    }
    return true;
  }
}

/** `isGone`: its instance, the only one that could send the rest of it, was deleted. */
function verdictOn(
  deps: With<"connections" | "link" | "membership">,
  plan: RoutePlan,
  message: Message,
  isGone: boolean,
): MessageDecision {
  if (message.status !== "queued" || deps.connections.isUp(deps, message.instanceId)) return null;
  const change = changeOf(deps, plan, message, isGone);
  if (change === null) return null;
  const { instanceId: lane, from, to } = message;
  // A run that leased a message of the pair decides about it, and keeps the order.
  const epoch = deps.membership.epochOf(lane);
  const owned: Operation[] = epoch === null ? [] : [{ op: "requireEpoch", ...epoch }];
  return { ...change, also: [{ op: "requireUnleased", lane, from, to }, ...owned] };
}

function changeOf(
  deps: With<"connections" | "link">,
  plan: RoutePlan,
  message: Message,
  isGone: boolean,
): Change | null {
  if (isGone) return fail(message, { code: "ATTACHMENT_FAILED", message: STRANDED }, changeContext(deps));
  const expiry = expiryOf(deps, message);
  if (expiry !== null) return fail(message, expiry, changeContext(deps));
  const moved = moveInstead(deps, plan, message);
  return moved === null ? null : { message: moved, events: [] };
}
