/**
 * Replays of an endpoint's events: begins one, shows the last one, and stops it. The request commits a record; a chore then makes the
 * deliveries page by page (`replay-pages.ts`).
 */

import type { EventType } from "../../../sdk/wire.ts";
import { ApiError } from "../../core/error.ts";
import type { CustomerId } from "../../core/id.ts";
import type { Replay } from "../../core/replay.ts";
import type { Endpoint } from "../../core/webhook.ts";
import { newestPosition } from "../../store/events.ts";
import { findPositionAt, findPositionBefore, findReplay } from "../../store/replays.ts";
import type { Operation, Store } from "../../store/store.ts";
import { change, RequirementUnmet } from "../commit.ts";
import type { Deps } from "../deps.ts";
import { type IdempotentRequest, type IdempotentResult, idempotent } from "../idempotency.ts";
import { cancelReplayed } from "./cancel-deliveries.ts";
import { requireActive, requireEndpoint } from "./endpoints.ts";
import { readReplayPage } from "./replay-pages.ts";

/** Largest difference between the time in an event's id and the time of its position. */
const SKEW_MS = 60_000;
/** Time spent on an estimate of how many deliveries a replay of all events makes. */
const ESTIMATE_MS_MAX = 1_000;
/** Attempts to begin a replay while others begin one, or change the endpoint. */
const ROUNDS_MAX = 5;

/** The events to replay: from `since` to before `until` (epoch milliseconds), of `types` or of all types. */
export interface ReplayRequest {
  endpointId: string;
  since: number;
  until: number | null;
  types: EventType[] | null;
  /** Whether to replay only events that the endpoint has not answered with 2xx. */
  onlyFailed: boolean;
}

/**
 * Begins a replay and returns it; a repeat returns the result of the first use, as JSON of `startedReplay`. `reader` reads what is
 * counted before the answer, in pages, and ends with the client. Throws 404 `WEBHOOK_NOT_FOUND`, 400 `INVALID_STATUS` if the endpoint
 * is paused, and 409 `REPLAY_RUNNING`.
 */
export async function beginReplay(
  deps: Deps,
  request: IdempotentRequest,
  customerId: CustomerId,
  wish: ReplayRequest,
  reader: Store["db"],
): Promise<IdempotentResult<Replay>> {
  for (let round = 0; ; round += 1) {
    try {
      const begun = await idempotent<Replay>(deps, request, () => beginning(deps, customerId, wish, reader));
      deps.wake.chores();
      return begun;
    } catch (error) {
      // Another replay began, or the endpoint was paused: decided again, that is refused by its name.
      if (!(error instanceof RequirementUnmet) || round === ROUNDS_MAX) throw error;
    }
  }
}

async function beginning(deps: Deps, customerId: CustomerId, wish: ReplayRequest, reader: Store["db"]) {
  const endpoint = await requireActive(deps, customerId, wish.endpointId);
  const last = await findReplay(deps.store.db, customerId, endpoint.id);
  if (last?.status === "running") {
    const message = `The replay ${last.id} of this endpoint is running; wait until it is done, or stop it with DELETE.`;
    throw new ApiError("REPLAY_RUNNING", message);
  }
  const planned = await plan(deps, endpoint, wish);
  const replay = { ...planned, deliveries: await countDeliveries(deps, planned, endpoint, reader) };
  const scope = customerId;
  const ofEndpoint = { endpointId: endpoint.id };
  const transaction: Operation[] = [
    { op: "requireNone", table: "replays", where: { ...ofEndpoint, status: "running" }, scope },
    { op: "require", table: "endpoints", where: { id: endpoint.id, active: true }, scope },
    { op: "delete", table: "replays", where: ofEndpoint },
    { op: "insert", table: "replays", record: replay },
  ];
  return { transaction, value: replay, result: JSON.stringify(startedReplay(replay)) };
}

/** The answer to the request that began a replay. */
export function startedReplay({ id, status, deliveries }: Replay): Pick<Replay, "id" | "status" | "deliveries"> {
  return { id, status, deliveries };
}

async function plan({ clock, store, newId }: Deps, endpoint: Endpoint, wish: ReplayRequest): Promise<Replay> {
  const { id: endpointId, customerId } = endpoint;
  const { since, until, types, onlyFailed } = wish;
  // Ids hold real time, records the service's time, which is never behind it.
  const shiftMs = clock.now() - clock.real();
  const newest = (await newestPosition(store.db, customerId)) ?? 0;
  const end = until === null ? null : await findPositionAt(store.db, until + SKEW_MS);
  return {
    id: newId("rpl"),
    version: 1,
    customerId,
    endpointId,
    status: "running",
    since,
    until,
    types,
    onlyFailed,
    position: await findPositionBefore(store.db, since - shiftMs - SKEW_MS),
    eventsUntil: end === null ? newest : Math.min(newest, end),
    deliveries: null,
    made: 0,
    startedAt: clock.now(),
    endedAt: null,
  };
}

/** How many deliveries a replay will make: for failed ones always; else null if that takes longer than `ESTIMATE_MS_MAX`. */
async function countDeliveries(
  { clock }: Deps,
  replay: Replay,
  endpoint: Endpoint,
  reader: Store["db"],
): Promise<number | null> {
  const until = clock.monotonic() + ESTIMATE_MS_MAX;
  let count = 0;
  for (let { position } = replay; ; ) {
    const page = await readReplayPage(reader, { ...replay, position }, endpoint);
    count += page.events.length + page.takenUp.length;
    if (page.until === null) return count;
    position = page.until;
    if (!replay.onlyFailed && clock.monotonic() > until) return null;
  }
}

/** The last replay of an endpoint; null if there was none. Throws 404 `WEBHOOK_NOT_FOUND`. */
export async function lastReplay(deps: Deps, customerId: CustomerId, id: string): Promise<Replay | null> {
  const endpoint = await requireEndpoint(deps, customerId, id);
  return findReplay(deps.store.db, customerId, endpoint.id);
}

/**
 * Stops the replay of an endpoint, and cancels those of its deliveries that were not tried; returns it. Throws 404
 * `WEBHOOK_NOT_FOUND`, and `NOT_FOUND` if none runs.
 */
export async function stopReplay(deps: Deps, customerId: CustomerId, id: string, gone: AbortSignal): Promise<Replay> {
  const stopped = await change(deps, async () => {
    const replay = await lastReplay(deps, customerId, id);
    if (replay?.status !== "running") throw new ApiError("NOT_FOUND", `No replay of the endpoint ${id} is running.`);
    const set = endOf(deps);
    return { transaction: [updateReplay(replay, set)], value: { ...replay, ...set } };
  });
  await cancelReplayed(deps, stopped, gone);
  return stopped;
}

function endOf({ clock }: Pick<Deps, "clock">) {
  return { status: "stopped", endedAt: clock.now() } as const;
}

function updateReplay({ id, version }: Replay, set: Partial<Replay>): Operation {
  return { op: "update", table: "replays", id, version, set };
}

/** The operations that stop the replay of an endpoint that is being paused; none if none runs. */
export async function stopWithEndpoint(deps: Pick<Deps, "clock" | "store">, endpoint: Endpoint): Promise<Operation[]> {
  const replay = await findReplay(deps.store.db, endpoint.customerId, endpoint.id);
  return replay?.status === "running" ? [updateReplay(replay, endOf(deps))] : [];
}
