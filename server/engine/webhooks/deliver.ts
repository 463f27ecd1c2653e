/**
 * Sends due deliveries as signed webhooks, and commits each attempt with its consequences for the schedule.
 *
 * The loop shares no state with the rest of the service, and runs in a thread of its own (`server/app/deliver-worker.ts`); on PostgreSQL
 * it runs in the main thread. What passes between them:
 *
 * | to the loop | |
 * |---|---|
 * | new deliveries, and others that became due or are gone | `push` of its `DeliveryHolder` |
 * | changes of endpoints and customers, a reset of a customer | `changed`, `drop`; their callers are answered once the loop has applied them |
 * | lanes that may have due deliveries, repaired rows | `wake`, `repaired` |
 * | which addresses are allowed | `WebhookSender.poster`; the service replaces it when it leaves the sandbox |
 * | start and stop | `start`, `stop`; a closed poster gives back the attempts that a stop does not wait for |
 *
 * | from the loop | |
 * |---|---|
 * | reads of due deliveries, ends of attempts | `DeliverDeps.store`, through its `DueQueue` |
 * | reads of endpoints, signers and due lanes | `DeliverDeps.store`, through its `ReceiverCache` |
 * | recorded attempts, for requests that wait for one; endpoints that are gone, or back | `attempted`, `goneMarks` |
 * | attempts in flight, lags, limits, faults | `observer`, `lagMs`, `ended` |
 */

import type { Clock } from "../../clock.ts";
import { type Delivery, isSuccess } from "../../core/delivery.ts";
import { GoneReceivers } from "../../core/gone-receivers.ts";
import type { CustomerId, DeliveryId } from "../../core/id.ts";
import { signatureHeaders } from "../../core/signature.ts";
import type { OwnLimit } from "../../outgoing/connection.ts";
import { isUnreached, type Poster, type PostResult } from "../../outgoing/post.ts";
import { retryAfterSeconds as readRetryAfter } from "../../outgoing/retry-after.ts";
import type { Sealer } from "../../secrets.ts";
import { type ReceiverChange, type Store, StoreFull } from "../../store/store.ts";
import type { EngineSettings } from "../deps.ts";
import type { RunTimes } from "../lane-lag.ts";
import { isUnreached as isLaneUnreached } from "../lane-state.ts";
import { Lanes } from "../lanes.ts";
import type { AttemptOutcome, Observer } from "../observer.ts";
import { DueQueue, type HeldDelivery } from "../queue/due-deliveries.ts";
import type { RunResult } from "../run-result.ts";
import { UnrecordedResponses } from "../unrecorded.ts";
import { AtOnce } from "./at-once.ts";
import type { AttemptFeed } from "./attempt-feed.ts";
import { AttemptsInFlight } from "./attempts-in-flight.ts";
import type { DeliverLoop } from "./deliver-loop.ts";
import { Holds, putOffUntil } from "./holds.ts";
import { OutcomeBatch } from "./outcome-batch.ts";
import { type Receiver, ReceiverCache } from "./receiver-cache.ts";
import { cancelled, type Recording, record, recordPosted, type Target } from "./record-attempt.ts";
import { signingSecrets } from "./signing-secrets.ts";

/** An attempt and its commit take less than this, in real milliseconds. */
const ATTEMPT_MS_MAX = 35_000;
const ATTEMPTS_AT_ONCE_MAX = 2_048;
/** A customer may hold this multiple of the free permits: 80 % of all when alone, 44 % each of two. */
const SHARE_OF_FREE = 4;
/** Deliveries that a lane claims ahead of its permits. */
const PREFETCH = 128;
/** Unrecorded responses of a receiver beyond which an attempt keeps its permit: a kill sends their webhooks again. */
const UNRECORDED_MAX = 128;
/** A successful response within this time earns its lane a permit, in milliseconds. */
const SOON_MS = 5_000;

/** Posts webhooks. `inboxUrl` is the address of this process itself. */
export interface WebhookSender {
  poster: Pick<Poster, "post">;
  inboxUrl(path: string): string;
}

/** All that the loop uses of the service. */
export interface DeliverDeps {
  store: Pick<
    Store,
    | "arrived"
    | "credit"
    | "db"
    | "dueDeliveries"
    | "dueLanes"
    | "finishDeliveries"
    | "hold"
    | "isFull"
    | "rechecked"
    | "shared"
  >;
  clock: Clock;
  chance: () => number;
  /** Whether this process may begin attempts of the lane, and whether it has applied what others changed; absent: it is alone. */
  ownsLane?: (lane: string) => boolean;
  isCurrent?: () => boolean;
  settings: Pick<EngineSettings, "webhookConcurrency" | "webhookRetryScheduleMs">;
  sealer: Pick<Sealer, "open">;
  attempted: Pick<AttemptFeed, "notify">;
  goneMarks: Recording["deps"]["goneMarks"];
  observer: Pick<Observer, "attempted" | "breakersOpen" | "dueLag" | "fault" | "inFlight" | "outOf">;
}

/** The parts that all attempts share. */
interface Attempting extends Recording {
  deps: DeliverDeps;
  sender: WebhookSender;
  unrecorded: UnrecordedResponses;
  holds: Holds;
  inFlight: AttemptsInFlight;
}

/** The loop that posts deliveries. New ones are pushed to it with their commit, and it reads all others. */
export class Deliver implements DeliverLoop {
  readonly #deps: DeliverDeps;
  readonly #receiverCache: ReceiverCache;
  readonly #lanes: Lanes<HeldDelivery>;
  readonly #queue: DueQueue;
  readonly #atOnce: AtOnce;
  readonly look = (): void => this.#lanes.look();
  readonly #inFlight: AttemptsInFlight;
  #breakersOpen = 0;
  #endHold: () => void = () => {};

  constructor(deps: DeliverDeps, sender: WebhookSender) {
    this.#deps = deps;
    const { isCurrent, observer, store } = deps;
    this.#receiverCache = new ReceiverCache(isCurrent);
    this.#inFlight = new AttemptsInFlight(() => deps.clock.monotonic());
    this.#queue = new DueQueue({ store, clock: deps.clock });
    this.#lanes = createLanes(
      {
        deps,
        receiverCache: this.#receiverCache,
        queue: this.#queue,
        wake: (lane, atOnce) => this.wake([lane], atOnce),
        sender,
        inFlight: this.#inFlight,
        outcomes: new OutcomeBatch(store),
        goneReceivers: new GoneReceivers(),
        unrecorded: new UnrecordedResponses(UNRECORDED_MAX),
        holds: new Holds({
          clock: deps.clock,
          hold: (lane, until) => this.#lanes.hold(lane, until),
          putOff: (lane, until) => this.#lanes.putOff(lane, until),
        }),
      },
      () => this.#look(),
    );
    this.#atOnce = new AtOnce({
      store,
      clock: deps.clock,
      limited: () => this.#lanes.limited.map(({ name }) => name).filter(deps.ownsLane ?? (() => true)),
      run: (lanes, ids) => this.#runAtOnce(lanes, ids),
      fault: (error) => observer.fault("deliver", error),
    });
  }

  /** Called several times a second. */
  #look(): void {
    this.#atOnce.look();
    const { clock, observer } = this.#deps;
    const now = clock.monotonic();
    const open = this.#lanes.limited.filter((lane) => isLaneUnreached(lane, now)).length;
    if (open !== this.#breakersOpen) observer.breakersOpen(open);
    this.#breakersOpen = open;
  }

  async #runAtOnce(names: readonly string[], atOnce: readonly DeliveryId[]): Promise<void> {
    const { ownsLane = () => true, store } = this.#deps;
    if (store.isFull) throw diskFull();
    const { own = [], others = [] } = Object.groupBy(await this.#queue.claimAtOnce(names, atOnce), ({ delivery }) =>
      ownsLane(delivery.lane) ? "own" : "others",
    );
    this.#queue.giveUp([...others, ...this.#lanes.runAtOnce(own)]);
  }

  start(): void {
    this.#lanes.start();
    this.#endHold = this.#queue.start({
      take: (items) => this.#lanes.push(items),
      wake: (lanes) => this.#lanes.wake(lanes),
      giveBack: (lanes) => {
        for (const lane of lanes) this.#lanes.giveBack(lane);
      },
      look: () => this.#lanes.look(),
    });
  }

  lagMs(): number {
    return this.#lanes.lagMs();
  }

  get ended(): number {
    return this.#lanes.ended;
  }

  wake(lanes: Iterable<string>, atOnce: readonly DeliveryId[] = []): void {
    this.#lanes.wake(lanes);
    this.#atOnce.ask(atOnce);
  }

  async drop(customerId: CustomerId): Promise<void> {
    const drop = () => this.#lanes.drop(({ delivery }) => delivery.customerId === customerId);
    drop();
    // Some that the reset has deleted may be on their way to this loop.
    await this.#deps.store.arrived();
    drop();
  }

  changed(changes: readonly ReceiverChange[]): void {
    this.#receiverCache.changed(changes);
    for (const { table, id, isMark } of changes)
      if (table === "endpoints" && id !== null && isMark !== true) this.#lanes.peerChanged(id);
  }

  lanesChanged(): void {
    this.#inFlight.lanesChanged();
    // Attempts in flight stay in hand, so that no read takes their deliveries again.
    this.#queue.forget();
    this.#lanes.drop(() => true);
    this.#lanes.look();
  }

  shardsInUse(): ReadonlySet<number> {
    return this.#inFlight.shards();
  }

  repaired(): void {
    this.#receiverCache.clear();
    this.#deps.store.rechecked();
  }

  async stop(): Promise<void> {
    this.#endHold();
    await Promise.all([this.#lanes.stop(), this.#atOnce.stop()]);
  }
}

function diskFull(): StoreFull {
  return new StoreFull("the disk is full: webhooks wait");
}

/** A lane is an endpoint, or the origin of a customer's callbacks. `look` is called before each look for due deliveries. */
function createLanes(attempting: Attempting, look: () => void): Lanes<HeldDelivery> {
  const { clock, ownsLane = () => true, observer, settings, store } = attempting.deps;
  const { inFlight, queue, receiverCache } = attempting;
  return new Lanes<HeldDelivery>({
    clock,
    async claim(wanted) {
      // No attempt could be recorded: each webhook would be sent again whenever its delivery leaves the hand.
      if (store.isFull) throw diskFull();
      return queue.claim(wanted.filter(({ lane }) => ownsLane(lane)));
    },
    release: (items) => queue.giveUp(items),
    async dueLanes(took) {
      look();
      return (await store.dueLanes("deliveries", clock.now(), took)).map(({ lane }) => lane).filter(ownsLane);
    },
    ownerOf: (lane) => receiverCache.ownerOf(lane),
    loadOwners: (lanes) => receiverCache.load(store, lanes),
    laneOf: ({ delivery }) => delivery.lane,
    dueAtOf: ({ delivery }) => delivery.dueAt ?? clock.now(),
    takesMore: () => true,
    // Within a message, an event waits for the first attempt of the event before.
    orderingKeyOf: ({ delivery }) => (delivery.attemptCount === 0 ? delivery.messageId : null),
    isStale: (item) => isStale(attempting, item),
    prefetch: PREFETCH,
    run: (item, free, times) =>
      inFlight.make(item.delivery.lane, (isStillOwner) => deliver({ ...attempting, isStillOwner }, item, free, times)),
    fault: (error) => observer.fault("deliver", error),
    inFlight: (count) => observer.inFlight("deliver", count),
    mayFreeOthers: () => false,
    permitsPerLane: (lane) => receiverCache.maxInFlight(lane) ?? settings.webhookConcurrency,
    permitsMax: ATTEMPTS_AT_ONCE_MAX,
    shareOfFree: SHARE_OF_FREE,
  });
}

/** Whether a delivery in hand must not be posted: its time is too short, or this process may have lost its lane. */
function isStale(
  { deps: { clock, ownsLane = () => true } }: Attempting,
  { delivery, heldUntil }: HeldDelivery,
): boolean {
  return heldUntil - clock.monotonic() < ATTEMPT_MS_MAX || !ownsLane(delivery.lane);
}

async function deliver(
  attempting: Attempting & { isStillOwner: () => boolean },
  item: HeldDelivery,
  free: (result: RunResult) => void,
  times: RunTimes,
): Promise<RunResult> {
  const { chance, clock, observer } = attempting.deps;
  const { delivery } = item;
  const { customerId, lane } = delivery;
  observer.dueLag(clock.now() - (delivery.dueAt ?? clock.now()));
  const receiver = await readReceiver(attempting, delivery);
  if (receiver === null) return "unread";
  const { endpoint, signer } = receiver;
  if (endpoint === "unreadable") {
    // The lane is in quarantine: it is read again once the row of its endpoint is repaired.
    attempting.queue.giveUp([item]);
    return "bad";
  }
  if (delivery.endpointId !== null && endpoint?.active !== true) {
    await record(attempting, item, cancelled);
    return "good";
  }
  const askedUntil = attempting.holds.untilOf(delivery);
  if (askedUntil !== null) {
    await record(attempting, item, putOffUntil(askedUntil));
    return "bad";
  }
  // Its receiver was read meanwhile. If the lane was lost and is back, another process may have posted it.
  if (isStale(attempting, item) || !attempting.isStillOwner()) {
    attempting.queue.giveUp([item]);
    return "bad";
  }
  const target = { endpoint, signer, url: endpoint?.url ?? delivery.url };
  const begun = { at: clock.now(), aheadMs: clock.aheadMs() };
  times.asks();
  const posted = await post(attempting, item, target);
  times.answered();
  const ours = UNCOUNTED[posted.error ?? ""];
  if (ours !== undefined) {
    if (ours.limit !== null) observer.outOf(ours.limit);
    return ours.result;
  }
  const endedAt = clock.now();
  const succeeded = isSuccess(posted);
  const result = resultOf(posted);
  const retryAfterSeconds = readRetryAfter(posted.retryAfter ?? [], clock.real());
  if (retryAfterSeconds !== null) attempting.holds.ask(delivery, retryAfterSeconds);
  // The receiver is free for the next delivery; the response is recorded meanwhile.
  if (attempting.unrecorded.add(lane)) free(result);
  try {
    await recordPosted(attempting, item, target, { ...posted, ...begun, endedAt, retryAfterSeconds, jitter: chance() });
  } finally {
    attempting.unrecorded.remove(lane);
  }
  observer.attempted(customerId, outcomeOf(posted, succeeded));
  return result;
}

/** The receiver of a delivery; null if it cannot be read now, such as from a database out of reach. */
async function readReceiver({ deps, receiverCache }: Attempting, delivery: Delivery): Promise<Receiver | null> {
  try {
    return await receiverCache.findCurrent(deps.store, delivery);
  } catch (error) {
    deps.observer.fault("deliver", error);
    return null;
  }
}

/** Errors of an attempt that say nothing about its receiver: the loop keeps the delivery, and runs it again. */
const UNCOUNTED: Readonly<Partial<Record<string, { limit: OwnLimit | null; result: RunResult }>>> = {
  STOPPED: { limit: null, result: "stopped" },
  OUT_OF_FILES: { limit: "OUT_OF_FILES", result: "local" },
  OUT_OF_PORTS: { limit: "OUT_OF_PORTS", result: "noPort" },
};

function resultOf(posted: PostResult): RunResult {
  if (isSuccess(posted)) return posted.durationMs <= SOON_MS ? "good" : "late";
  if (isUnreached(posted)) return posted.timedOut ? "dark" : "unreached";
  return posted.timedOut ? "slow" : "bad";
}

function outcomeOf(posted: PostResult, succeeded: boolean): AttemptOutcome {
  if (succeeded) return "succeeded";
  if (posted.timedOut) return "timeout";
  return posted.error === "ADDRESS_REFUSED" ? "refused" : "failed";
}

/** Result without an attempt, if nothing can sign it: the receiver would refuse it. */
const UNSIGNED: PostResult = {
  status: null,
  durationMs: 0,
  response: null,
  error: "SECRET_UNREADABLE",
  connected: false,
  timedOut: false,
  isPrivate: false,
};

async function post({ deps, sender }: Attempting, item: HeldDelivery, target: Target): Promise<PostResult> {
  const { delivery, bytes, correlationId } = item;
  const secrets = openSecrets(deps, delivery, target);
  if (secrets === null) return UNSIGNED;
  const sentAtSeconds = Math.floor(deps.clock.real() / 1_000);
  const signed = signatureHeaders({ eventId: delivery.eventId, body: bytes, ...secrets, sentAtSeconds });
  const headers = { "X-Correlation-Id": correlationId, ...signed };
  const toInbox = target.endpoint?.kind === "inbox";
  const url = toInbox ? sender.inboxUrl(target.url) : target.url;
  return sender.poster.post({ url, body: bytes, headers, trusted: toInbox });
}

/** The signing secrets; null if there are none, or if they cannot be decrypted, which is logged for the operator. */
function openSecrets(deps: DeliverDeps, delivery: Delivery, target: Target) {
  try {
    return signingSecrets(deps, delivery, target);
  } catch (error) {
    deps.observer.fault("deliver", error);
    return null;
  }
}
