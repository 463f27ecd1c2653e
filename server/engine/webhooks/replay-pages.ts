/**
 * Makes the deliveries of running replays, a page at a time: a page and how far the replay is then are one transaction, so that a
 * process that dies in between doubles and loses nothing. Customers get their pages in turn. New events go first: a page waits as long
 * as the endpoint has others due, and no replay has more than 5,000 deliveries that wait.
 */

import { deliveryTo, takenUp } from "../../core/delivery.ts";
import type { ReplayId } from "../../core/id.ts";
import { pageOfFailed, type Replay, type ReplayPage, takes } from "../../core/replay.ts";
import type { Endpoint } from "../../core/webhook.ts";
import { listEventSummaries } from "../../store/events.ts";
import { countDue, countWaiting, listDeliveriesTo, listRunningReplays } from "../../store/replays.ts";
import type { Operation, Store } from "../../store/store.ts";
import { findWebhook } from "../../store/webhooks.ts";
import type { With } from "../engine-deps.ts";
import { forEach } from "../unreadable.ts";
import { announceDeliveries } from "./announce-deliveries.ts";

/** Events of a page. */
const PAGE_EVENTS = 500;
/** Deliveries of a replay that may wait for an attempt. */
const WAITING_MAX = 5_000;
/** Due deliveries of an endpoint with which it gets no page: a new event waits for these and one page. */
const DUE_MAX = 250;
/** Replays that one look reads. */
const LOOKED_AT_ONCE = 50;
/** After every id of a replay. */
const LAST_ID: ReplayId = "rpl_~";

/** A page, and the position at which the next one begins; null: it is the last one. */
interface ReadPage extends ReplayPage {
  until: number | null;
}

/** Reads the next page of a replay. */
export async function readReplayPage(
  db: Store["db"],
  replay: Replay,
  endpoint: Endpoint,
  limit = PAGE_EVENTS,
): Promise<ReadPage> {
  const { customerId, position: after, eventsUntil } = replay;
  const read = await listEventSummaries(db, customerId, { after, until: eventsUntil }, limit);
  const until = read.length < limit ? null : (read.at(-1)?.position ?? null);
  const events = read.filter((event) => takes(replay, endpoint, event));
  if (!replay.onlyFailed) return { events, takenUp: [], until };
  const ids = events.map(({ id }) => id);
  return { ...pageOfFailed(events, await listDeliveriesTo(db, customerId, endpoint.id, ids)), until };
}

/** The place of a replay among those that run. */
type ReplayPlace = Pick<Replay, "customerId" | "id">;

/** Before every replay. */
const FIRST = { customerId: "", id: "" } as unknown as ReplayPlace;

/** The chore of the leader. */
export class ReplayPages {
  readonly #deps: With<"attempted">;
  /** The next look begins after it. */
  #after = FIRST;
  /** Whether a page was made since a look began at the first replay. */
  #hasMade = false;

  constructor(deps: With<"attempted">) {
    this.#deps = deps;
  }

  /**
   * Makes a page of the next replay that may have one, and then goes on with those of the next customer. Returns whether another look
   * may make one at once.
   */
  async run(): Promise<boolean> {
    const { db } = this.#deps.store;
    const running = await listRunningReplays(db, this.#after, LOOKED_AT_ONCE);
    for (const replay of running) {
      const [isMade = false] = await forEach(this.#deps, "replay", [replay], (one) => this.#step(one));
      if (!isMade) continue;
      this.#after = { customerId: replay.customerId, id: LAST_ID };
      this.#hasMade = true;
      return true;
    }
    const last = running.at(-1);
    if (last !== undefined && running.length === LOOKED_AT_ONCE) {
      this.#after = last;
      return true;
    }
    const hasMade = this.#hasMade;
    this.#after = FIRST;
    this.#hasMade = false;
    return hasMade;
  }

  /** Makes a page of a replay if it may have one. Returns whether it did. */
  async #step(replay: Replay): Promise<boolean> {
    const { store, clock } = this.#deps;
    const endpoint = await findWebhook(store.db, replay.customerId, replay.endpointId);
    if (!endpoint?.active) return false;
    if ((await countDue(store.looks, endpoint.id, clock.now(), DUE_MAX)) >= DUE_MAX) return false;
    const room = WAITING_MAX - (await countWaiting(store.looks, replay.id, WAITING_MAX));
    // Others change deliveries of a page before it is committed: a smaller page is then made.
    for (let limit = Math.min(room, PAGE_EVENTS); limit >= 1; limit = Math.floor(limit / 5)) {
      const page = await readReplayPage(store.db, replay, endpoint, limit);
      if (await this.#commit(replay, endpoint, page)) return true;
    }
    return false;
  }

  /** Commits a page. Returns whether nothing that it was decided on has changed. */
  async #commit(replay: Replay, endpoint: Endpoint, { events, takenUp: standing, until }: ReadPage): Promise<boolean> {
    const { clock, store } = this.#deps;
    const now = clock.now();
    const deliveries = events.map((event) => deliveryTo(event, endpoint, now, replay.id));
    const made = replay.made + deliveries.length + standing.length;
    const set: Partial<Replay> = until === null ? { made, status: "done", endedAt: now } : { made, position: until };
    const { result } = await store.commit([
      { op: "update", table: "replays", id: replay.id, version: replay.version, set },
      { op: "require", table: "endpoints", where: { id: endpoint.id, active: true }, scope: replay.customerId },
      ...deliveries.map((record): Operation => ({ op: "insert", table: "deliveries", record })),
      ...standing.map(
        ({ id, version }): Operation => ({
          op: "update",
          table: "deliveries",
          id,
          version,
          set: takenUp(replay.id, now),
        }),
      ),
    ]);
    if (result !== "ok") return false;
    const changed = [...deliveries, ...standing].map(({ id }) => ({ id, lane: endpoint.id }));
    if (changed.length > 0) await announceDeliveries(this.#deps, replay.customerId, changed, { atOnce: false });
    return true;
  }
}
