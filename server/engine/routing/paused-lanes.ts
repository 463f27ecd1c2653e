/** Looks after messages that wait for instances which are down: they expire in time, and go elsewhere where they can. */

import type { InstanceId } from "../../core/id.ts";
import { type Message, pairOf } from "../../core/message.ts";
import { fail } from "../../core/message-lifecycle.ts";
import { hasInstance } from "../../store/instances.ts";
import { listLeasedPairs, listWaiting, positionAfter, type QueuePosition } from "../../store/messages.ts";
import { changeContext, type With } from "../engine-deps.ts";
import { changeMessage, type MessageDecision } from "../messages/change-message.ts";
import { MessageGone } from "../messages/find.ts";
import { expiryOf, STRANDED } from "../messages/prepare.ts";
import { nullIfUnreadable } from "../quarantine.ts";
import { moveInstead, planOf, type RoutePlan } from "./route.ts";

/** How often the oldest messages of lanes that are held are looked at, in real milliseconds. */
const LOOK_EVERY_MS = 1_000;
/** How often all of their messages are, besides whenever an instance came up or went down, in real milliseconds. */
const WALK_EVERY_MS = 60_000;
/** After a start instances get this long to connect before what waits for them goes elsewhere, in real milliseconds. */
const CONNECTING_MS = 5_000;
/** Messages read at once. */
const PAGE = 200;
/** Pages of one lane before the others have their turn. */
const PAGES_IN_TURN = 10;

/** A walk through a lane: how far it has come, and whether another one is to follow. */
interface Walk {
  after: QueuePosition | null;
  again: boolean;
}

export class PausedLanes {
  readonly #deps: With<"configCache" | "connections" | "link" | "messageCache" | "providers">;
  /** Lanes that are being walked through. */
  readonly #walks = new Map<InstanceId, Walk>();
  #walkedAt = Number.NEGATIVE_INFINITY;
  #isWoken = false;
  #running: Promise<void> | null = null;
  #isReady = false;
  #stopped = true;
  #cancel: () => void = () => {};

  constructor(deps: With<"configCache" | "connections" | "link" | "messageCache" | "providers">) {
    this.#deps = deps;
  }

  start(): void {
    this.#stopped = false;
    this.#later(CONNECTING_MS);
  }

  /** Walks through all that waits: an instance came up or went down, or there are other ways to go. */
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
    let nextMs = LOOK_EVERY_MS;
    try {
      if ((await this.#look()) || this.#isWoken) nextMs = 0;
    } catch (error) {
      this.#deps.observer.fault("outages", error);
    }
    this.#running = null;
    this.#later(nextMs);
  }

  /** Answers whether there is more to do at once. */
  async #look(): Promise<boolean> {
    const { clock, connections, store } = this.#deps;
    const due = (await store.dueLanes("messages", clock.now())).map(({ lane }) => lane as InstanceId);
    const held = due.filter((lane) => !connections.isUp(this.#deps, lane));
    if (this.#isWoken || clock.real() - this.#walkedAt >= WALK_EVERY_MS) this.#beginWalks(held);
    for (const lane of this.#walks.keys()) if (!held.includes(lane)) this.#walks.delete(lane);
    let more = false;
    for (const lane of held) more = (await this.#lookAt(lane)) || more;
    return more;
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

  /** The oldest messages of a lane, then where its walk goes on. Answers whether any was ended or moved, and more wait. */
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

  #endWalk(lane: InstanceId, { again }: Walk): void {
    if (again) this.#walks.set(lane, { after: null, again: false });
    else this.#walks.delete(lane);
  }

  async #page(lane: InstanceId, after: QueuePosition | null) {
    const { clock, store } = this.#deps;
    // Before the messages: what is in hand no more when they are read is among them.
    const inHand = new Set((await listLeasedPairs(store.db, lane)).map(pairOf));
    const messages = await listWaiting(store.db, lane, clock.now(), after, PAGE);
    const pairs = [...Map.groupBy(messages, pairOf)].filter(([pair]) => !inHand.has(pair));
    const gone = await Promise.all(pairs.map(([, pair]) => this.#inOrder(pair)));
    const last = positionAfter(messages);
    return { gone: gone.reduce((sum, count) => sum + count, 0), last, isFull: messages.length === PAGE };
  }

  /**
   * Those of one number to one recipient, one after the other: what comes first is first in the other lane too. Where
   * one of them is in hand yet, the others wait for what becomes of it.
   */
  async #inOrder(messages: readonly Message[]): Promise<number> {
    let gone = 0;
    for (const message of messages) if (!this.#stopped && (await this.#goOn(message))) gone += 1;
    return gone;
  }

  /** Ends a message that waited too long, or lets it go elsewhere. Answers whether it was one to do that with. */
  async #goOn(message: Message): Promise<boolean> {
    const deps = this.#deps;
    // What is wrong with a customer's record keeps no message of others where it is.
    const plan = await nullIfUnreadable(deps, "outages", () => planOf(deps, message));
    if (plan === null) return false;
    const isGone = message.sentPart !== null && !(await hasInstance(deps.store.db, message.instanceId));
    if (verdictOn(deps, plan, message, isGone) === null) return false;
    try {
      await changeMessage(deps, message, (fresh) => verdictOn(deps, plan, fresh, isGone));
    } catch (error) {
      if (!(error instanceof MessageGone)) throw error;
    }
    return true;
  }
}

/** `isGone`: its instance was deleted, and was the only one that could send the rest of it. */
function verdictOn(
  deps: With<"connections" | "link">,
  plan: RoutePlan,
  message: Message,
  isGone: boolean,
): MessageDecision {
  // Who has it in hand decides about it.
  if (message.status !== "queued" || message.claimedUntil !== null) return null;
  if (deps.connections.isUp(deps, message.instanceId)) return null;
  if (isGone) return fail(message, { code: "ATTACHMENT_FAILED", message: STRANDED }, changeContext(deps));
  const expiry = expiryOf(deps, message);
  if (expiry !== null) return fail(message, expiry, changeContext(deps));
  const moved = moveInstead(deps, plan, message);
  return moved === null ? null : { message: moved, events: [] };
}
