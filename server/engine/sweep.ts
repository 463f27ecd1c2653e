/** Chores by the clock: notices when the clock is set, frees expired leases, prunes old records and sessions, vacuums the queues, erases texts, expires payment requests, makes pages of replays. */

import { isErased, type StoredEvent, withoutPerson, withoutText } from "../core/erasure.ts";
import type { Message } from "../core/message.ts";
import { listEventBytes } from "../store/events.ts";
import { listAwaitingErasure } from "../store/messages.ts";
import { type Operation, StoreFull } from "../store/store.ts";
import { ClockMonitor } from "./clock-monitor.ts";
import { eraseContacts } from "./contacts/erase.ts";
import type { RequestPlaces } from "./contacts/erase-requests.ts";
import type { Deps } from "./deps.ts";
import type { With } from "./engine-deps.ts";
import { expirePayments } from "./payments/end-payments.ts";
import { QuarantineMonitor } from "./quarantine.ts";
import { pruneRequests } from "./requests/prune-requests.ts";
import { removeEndedSessions } from "./sessions/end-sessions.ts";
import { forEach } from "./unreadable.ts";
import { ReplayPages } from "./webhooks/replay-pages.ts";

/** How often leases are looked at, in real milliseconds. */
const RELEASE_EVERY_MS = 5_000;
/** How often old records are looked for, in real milliseconds; as long as some are found it goes on at once. */
const PRUNE_EVERY_MS = 60_000;
/** How often the request log is brought back within its bounds, in real milliseconds: refused requests fill it fast. */
const PRUNE_REQUESTS_EVERY_MS = 10_000;
/** How often deleted messages are looked for whose events can be erased, in real milliseconds. */
const ERASE_EVERY_MS = 2_000;
/** How often rows in quarantine are looked at again, in real milliseconds. */
const RECHECK_EVERY_MS = 10_000;
/** How often the machine's time is compared with a clock that never steps, in real milliseconds. */
const CLOCK_EVERY_MS = 1_000;
/** While the disk is full, how often it is tried whether there is room again, in real milliseconds. */
const PROBE_EVERY_MS = 1_000;
/** How often payment requests are looked for whose time is up, in real milliseconds. */
const EXPIRE_EVERY_MS = 500;
/** How often replays are looked for that may go on, in real milliseconds. */
const REPLAY_EVERY_MS = 500;
/** How often dead rows are removed from the queues, in real milliseconds. */
const VACUUM_EVERY_MS = 15_000;
const PRUNED_AT_ONCE = 200;
const ERASED_AT_ONCE = 50;

interface Chore {
  everyMs: number;
  /** Whether each process runs it; else the leader does. */
  isLocal?: boolean;
  /** Returns whether there is more to do at once. */
  run(deps: Deps): Promise<boolean>;
}

const CHORES: readonly Chore[] = [
  { everyMs: RELEASE_EVERY_MS, isLocal: true, run: release },
  { everyMs: PRUNE_EVERY_MS, run: prune },
  { everyMs: PRUNE_EVERY_MS, run: removeEndedSessions },
  { everyMs: PRUNE_REQUESTS_EVERY_MS, run: pruneRequests },
  { everyMs: VACUUM_EVERY_MS, run: vacuum },
  { everyMs: ERASE_EVERY_MS, run: eraseDeleted },
  { everyMs: EXPIRE_EVERY_MS, run: expirePayments },
  { everyMs: PROBE_EVERY_MS, isLocal: true, run: probe },
];

/** Runs the chores, each by itself, until it is stopped. */
export class Sweep {
  readonly #deps: With<"membership">;
  readonly #cancels = new Map<Chore, () => void>();
  readonly #running = new Set<Promise<void>>();
  /** Chores that are to be run once more at once. */
  readonly #again = new Set<Chore>();
  readonly #chores: readonly Chore[];
  #stopped = false;

  constructor(deps: With<"attempted" | "configCache" | "link" | "membership" | "messageCache" | "threadCache">) {
    this.#deps = deps;
    const quarantine = new QuarantineMonitor(deps);
    const recheck = async () => {
      await quarantine.check();
      return false;
    };
    const clock = new ClockMonitor(deps);
    const compare = async () => {
      await clock.check();
      return false;
    };
    const replays = new ReplayPages(deps);
    const places: RequestPlaces = new Map();
    this.#chores = [
      ...CHORES,
      { everyMs: REPLAY_EVERY_MS, run: () => replays.run() },
      { everyMs: ERASE_EVERY_MS, run: () => eraseContacts(deps, places) },
      { everyMs: CLOCK_EVERY_MS, isLocal: true, run: compare },
      { everyMs: RECHECK_EVERY_MS, run: recheck },
    ];
  }

  start(): void {
    for (const chore of this.#chores) this.#later(chore, chore.everyMs);
  }

  /** Looks at once for what is due: after the clock was moved. */
  wake(): void {
    const waiting = [...this.#cancels];
    for (const chore of this.#chores) this.#again.add(chore);
    for (const [chore, cancel] of waiting) {
      cancel();
      this.#later(chore, 0);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const cancel of this.#cancels.values()) cancel();
    await Promise.all(this.#running);
  }

  #later(chore: Chore, ms: number): void {
    if (this.#stopped) return;
    const begin = () => {
      this.#cancels.delete(chore);
      this.#again.delete(chore);
      const run = this.#run(chore);
      this.#running.add(run);
      void run.finally(() => this.#running.delete(run));
    };
    this.#cancels.set(chore, this.#deps.clock.after(ms, begin));
  }

  async #run(chore: Chore): Promise<void> {
    let more = false;
    try {
      if (chore.isLocal === true || this.#deps.membership.isLeader) more = await chore.run(this.#deps);
    } catch (error) {
      this.#deps.observer.fault("sweep", error);
    }
    this.#later(chore, more || this.#again.has(chore) ? 0 : chore.everyMs);
  }
}

/** Leases that ran out: their holder threw, could not write, or is dead. Each process ends its own, by its own clock. */
async function release(deps: Deps): Promise<boolean> {
  await deps.store.releaseLeases(deps.clock.real(), deps.clock.now());
  return false;
}

/** Notices without a request that a full disk has room again. */
async function probe({ store }: Deps): Promise<boolean> {
  if (!store.isFull) return false;
  try {
    await store.probe();
  } catch (error) {
    if (!(error instanceof StoreFull)) throw error;
  }
  return false;
}

/** Events, deliveries, attempts and idempotency keys past `TB_RETENTION`. */
async function prune(deps: Deps): Promise<boolean> {
  const { retentionMs } = deps.settings;
  if (retentionMs === null) return false;
  return (await deps.store.prune(deps.clock.real() - retentionMs, PRUNED_AT_ONCE)) >= PRUNED_AT_ONCE;
}

/** The queues' dead rows, which each claim would read past. */
async function vacuum({ store }: Deps): Promise<boolean> {
  await store.shared?.vacuumQueues();
  return false;
}

/** Erases the text of deleted messages from events that no delivery waits for any more. */
async function eraseDeleted(deps: Deps): Promise<boolean> {
  const messages = await listAwaitingErasure(deps.store.db, ERASED_AT_ONCE);
  const erased = await forEach(deps, "sweep", messages, (message) => eraseEvents(deps, message));
  return messages.length === ERASED_AT_ONCE && erased.length > 0;
}

async function eraseEvents(deps: Deps, message: Message): Promise<void> {
  const events = await listEventBytes(deps.store.db, message.id);
  const bytesOf = isErased(message)
    ? (event: StoredEvent) => withoutPerson(event, isOther(message))
    : (event: StoredEvent) => withoutText(event);
  const rewritten = events.map((event): Operation => ({ op: "rewrite", eventId: event.id, bytes: bytesOf(event) }));
  const set = { erasedAt: deps.clock.now() };
  const { id, version } = message;
  // Stale: it changed in between, and is found again at the next look.
  await deps.store.commit([{ op: "update", table: "messages", id, version, set }, ...rewritten]);
}

/** Whether an address in a message of an erased person is not the customer's own. */
function isOther({ direction, from, to }: Message): (address: string) => boolean {
  const own = direction === "outbound" ? from : to;
  return (address) => address !== own;
}
