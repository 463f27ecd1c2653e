/** The dispatch loop on a test context with a scripted provider: simulated time, deaths and restarts. No network. */

import assert from "node:assert/strict";
import type { TestContext as NodeTest } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { EventType, MessageEventData, SendMessage } from "../../sdk/wire.ts";
import type { Clock } from "../../server/clock.ts";
import type { MessageId } from "../../server/core/id.ts";
import type { Message } from "../../server/core/message.ts";
import { newMessage } from "../../server/core/new-message.ts";
import { SerialQueue } from "../../server/core/serial-queue.ts";
import { apply } from "../../server/engine/apply.ts";
import { OptOutCache } from "../../server/engine/contacts/opt-out-cache.ts";
import type { EngineSettings } from "../../server/engine/deps.ts";
import type { EngineDeps } from "../../server/engine/engine-deps.ts";
import { Connections } from "../../server/engine/instances/connections.ts";
import { accept } from "../../server/engine/messages/accept.ts";
import { attemptsOf } from "../../server/engine/messages/attempt-notes.ts";
import { Dispatch } from "../../server/engine/messages/dispatch.ts";
import { MessageCache } from "../../server/engine/messages/message-cache.ts";
import type { Signal } from "../../server/providers/provider.ts";
import { createProvider } from "../../server/providers/registry.ts";
import { listEventsOfMessage } from "../../server/store/events.ts";
import { findMessage } from "../../server/store/messages.ts";
import type { SharedDatabase } from "../../server/store/shared-database.ts";
import type { Store } from "../../server/store/store.ts";
import type { SimulatedClock } from "./clock.ts";
import { type TestContext, testContext } from "./context.ts";
import { ScriptedProvider } from "./provider.ts";

/** How often a run looks whether a write has its result: a test may hold the result back. */
const LOOKS_MAX = 10;

/** An event of a message as its receivers read it. */
export interface EmittedEvent {
  type: EventType;
  data: MessageEventData;
}

/** Lets the event loop turn `count` times. */
export async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) await setImmediate();
}

/** Whole numbers from 0 to below `limit`, the same for the same seed (mulberry32). */
export function seeded(seed: number): (limit: number) => number {
  let state = seed >>> 0;
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
}

/** One process: its writes stay on disk, its memory is lost at its death. */
export class Life {
  readonly deps: EngineDeps;
  readonly dispatch: Dispatch;
  /** Writes so far: commits and claims. */
  writes = 0;
  commits = 0;
  /** Looks at which lanes have something due. */
  reads = 0;
  readonly #openAttempts: StageOptions["openAttempts"];
  #openWrites = 0;
  #dead = false;
  #diesAt: { write: number; side: "before" | "after" } | null = null;
  /** Turns of the event loop that each write waits, which decide the order of concurrent work. */
  delay: () => number = () => 0;

  constructor(
    made: TestContext,
    { create = createProvider, openAttempts }: Pick<StageOptions, "create" | "openAttempts"> = {},
  ) {
    this.#openAttempts = openAttempts;
    this.deps = {
      ...made.deps,
      store: this.#store(made.deps.store),
      clock: this.#clock(made.clock),
      messageCache: new MessageCache(),
      optOutCache: new OptOutCache(made.deps.store.db),
      serial: new SerialQueue(),
      connections: new Connections(
        create,
        { apply: (id, signal) => apply(this.deps, id, signal), attempts: (id) => attemptsOf(() => this.deps, id) },
        made.providers,
      ),
      wake: {
        messages: (lanes, pair) => this.dispatch.wake(lanes, pair),
        deliveries: (lanes) => void made.woken.deliveries.push(...lanes),
        resetDeliveries: async () => {},
        repaired: () => {},
        events: made.deps.wake.events,
        pausedLanes: () => this.dispatch.pausedLanes.wake(),
        chores: () => {},
      },
    };
    this.dispatch = new Dispatch(this.deps);
    this.dispatch.start();
  }

  get dead(): boolean {
    return this.#dead;
  }

  /** Whether a write of this process has no result yet. */
  get isWriting(): boolean {
    return !this.#dead && this.#openWrites > 0;
  }

  /** Kills the process: it changes nothing any more, and nothing that it awaits resolves. */
  die(): void {
    this.#dead = true;
  }

  /** Dies around its write number `write` (0 is the first): before it reaches the disk, or after, unanswered. */
  dieAt(write: number, side: "before" | "after"): void {
    this.#diesAt = { write, side };
  }

  #alive(): Promise<void> {
    return this.#dead ? new Promise(() => {}) : Promise.resolve();
  }

  async #write<Value>(write: () => Promise<Value>): Promise<Value> {
    this.#openWrites += 1;
    try {
      return await this.#delayed(write);
    } finally {
      this.#openWrites -= 1;
    }
  }

  async #delayed<Value>(write: () => Promise<Value>): Promise<Value> {
    const delay = this.delay();
    if (delay > 0) await turns(delay);
    // A write that is not delayed is in the store's queue at once, as without the delay.
    if (this.#dead) await this.#alive();
    const side = this.#diesAt?.write === this.writes ? this.#diesAt.side : null;
    this.writes += 1;
    if (side === "before") this.die();
    if (this.#dead) await this.#alive();
    const value = await write();
    if (side === "after") this.die();
    await this.#alive();
    return value;
  }

  #store(store: Store): Store {
    const own: Partial<Store> = {
      commit: (transaction) => {
        this.commits += 1;
        return this.#write(() => store.commit(transaction));
      },
      commitGathered: (transaction) => {
        this.commits += 1;
        return this.#write(() => store.commitGathered(transaction));
      },
      claimMessages: (claim) => this.#write(() => store.claimMessages(claim)),
      release: async (leases) => {
        await this.#alive();
        return store.release(leases);
      },
      dueDeliveries: (read) => this.#write(() => store.dueDeliveries(read)),
      dueLanes: async (queue, now) => {
        await this.#alive();
        this.reads += 1;
        return store.dueLanes(queue, now);
      },
    };
    const listOpenAttempts = this.#openAttempts;
    if (listOpenAttempts !== undefined) Object.assign(own, { shared: { listOpenAttempts } });
    return new Proxy(store, {
      get(_, name) {
        const value: unknown = Reflect.get(Object.hasOwn(own, name) ? own : store, name);
        return typeof value === "function" ? value.bind(store) : value;
      },
    });
  }

  #clock(clock: SimulatedClock): Clock {
    return {
      now: () => clock.now(),
      aheadMs: () => clock.aheadMs(),
      real: () => clock.real(),
      monotonic: () => clock.monotonic(),
      turnMs: () => clock.turnMs(),
      after: (ms, action) => clock.after(ms, () => (this.#dead ? undefined : action())),
    };
  }
}

/** A running dispatch loop, with a test's controls and observations. */
export interface EngineStage extends TestContext {
  provider: ScriptedProvider;
  /** The process that runs now. */
  readonly life: Life;
  /** Accepts a message, by default to `+15550100001`; the loop claims it as soon as the test waits. */
  send(more?: Partial<SendMessage>): Promise<MessageId>;
  /** Runs all due work without advancing the clock. */
  run(): Promise<void>;
  /** Advances shifted time in one step, then runs due work: schedules and waits, but no lease and no deadline. */
  pass(ms: number): Promise<void>;
  /** Reports a signal, and runs the work that it causes. */
  report(signal: Signal): Promise<void>;
  message(id: MessageId): Promise<Message>;
  events(id: MessageId): Promise<EmittedEvent[]>;
  /** Types of the events so far without `message.`, after a check that their sequence has no gap. */
  eventTypes(id: MessageId): Promise<string[]>;
  /** Kills the process, unless it is dead, and starts another one, which ends no lease of its own accord. */
  takeOver(): Promise<void>;
  /** Kills the process, unless it is dead, and starts the next process like the engine. */
  restart(): Promise<void>;
}

/** Opens a stage until the test ends. At the end only faults named in `faults` may have occurred. */
export async function engineStage(t: NodeTest, options: StageOptions = {}): Promise<EngineStage> {
  const { settings = {}, deps: parts = {}, provider = new ScriptedProvider(), faults = [] } = options;
  const made = await testContext({ settings, deps: parts });
  made.providers.set(made.instance.id, provider);
  const { clock, instance, deps } = made;
  let life = new Life(made, options);
  t.after(async () => {
    life.die();
    await checkReasons(made.deps.store);
    await made.close();
    const odd = made.observed.faults.filter(({ where }) => !faults.includes(where));
    assert.deepEqual(odd, []);
  });
  const run = async () => {
    for (let commits = -1; commits !== life.commits; ) {
      commits = life.commits;
      life.dispatch.lanes.wake([instance.id, ...made.providers.keys()]);
      await clock.advance(0);
      for (let looks = 0; life.isWriting && looks < LOOKS_MAX; looks += 1) await clock.advance(0);
    }
  };
  const message = async (id: MessageId) => {
    const found = await findMessage(deps.store.db, id);
    assert.ok(found !== null, `${id} is lost`);
    return found;
  };
  const events = async (id: MessageId) =>
    (await listEventsOfMessage(deps.store.db, id)).map(({ bytes }) => JSON.parse(bytes) as EmittedEvent);
  const takeOver = async () => {
    life.die();
    life = new Life(made, options);
    await run();
  };
  return {
    ...made,
    provider,
    get life() {
      return life;
    },
    send: (more = {}) => sendTo(life.deps, made, more),
    run,
    async pass(ms) {
      clock.shift(ms);
      await run();
    },
    async report(signal) {
      await apply(life.deps, instance.id, signal);
      await run();
    },
    message,
    events,
    async eventTypes(id) {
      const reported = await events(id);
      const sequences = reported.map(({ data }) => data.sequence);
      assert.deepEqual(
        sequences,
        [...sequences.keys()].map((index) => index + 1),
      );
      assert.equal((await message(id)).sequence, reported.length);
      return reported.map(({ type }) => type.replace("message.", ""));
    },
    takeOver,
    async restart() {
      life.die();
      await deps.store.releaseLeases(Number.POSITIVE_INFINITY, clock.now());
      await takeOver();
    },
  };
}

/** Customers read the routing reasons: they name instances by display name, not by id. */
async function checkReasons({ db }: Store): Promise<void> {
  const messages = await db.selectFrom("messages").select(["timeline", "error_message as error"]).execute();
  for (const { timeline, error } of messages) {
    const reasons = (JSON.parse(timeline) as { reason?: string }[]).map(({ reason = "" }) => reason);
    for (const reason of [...reasons, error ?? ""]) assert.doesNotMatch(reason, /inst_/);
  }
}

/** The options of a stage. */
export interface StageOptions {
  settings?: Partial<EngineSettings>;
  /** Replaced parts of the context. */
  deps?: Partial<EngineDeps>;
  provider?: ScriptedProvider;
  /** Makes the providers of instances that a test connects. */
  create?: typeof createProvider;
  /** The database has other processes, with these attempts. */
  openAttempts?: SharedDatabase["listOpenAttempts"];
  /** Where faults are part of the test. */
  faults?: string[];
}

async function sendTo(deps: EngineDeps, made: TestContext, more: Partial<SendMessage>): Promise<MessageId> {
  const correlationId = `cor_${"0".repeat(32)}`;
  const requester = { customerId: made.customer.id, keyId: made.apiKey.id, correlationId };
  const message = newMessage(requester, { to: "+15550100001", content: { text: "Hello" }, ...more });
  const { record } = await accept(deps, message, more.idempotencyKey ?? null);
  return record.id as MessageId;
}

/**
 * The rule that no test may see broken: between two send attempts of one message on one channel it was
 * known that the first had not been sent, be it by a deferral or by asking. Reads it from the timeline.
 */
export function checkSendAttempts(message: Message, handed: readonly { messageId: MessageId }[]): void {
  const own = handed.filter(({ messageId }) => messageId === message.id).length;
  const begun = message.timeline.filter(({ status, reason }) => status === "pending" && reason === undefined);
  assert.ok(own <= begun.length, `${message.id}: ${own} attempts, ${begun.length} on record`);
  let open = false;
  for (const { status, reason } of message.timeline) {
    const begins = status === "pending" && reason === undefined;
    if (begins) assert.equal(open, false, `${message.id} was sent while another attempt was open`);
    if (begins) open = true;
    else if (status === "queued" || status === "failed") open = false;
  }
}
