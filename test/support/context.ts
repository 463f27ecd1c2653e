/** A small context for tests: the real store in this process, simulated time, repeatable chance, one customer. */

import { createHash } from "node:crypto";
import { readConfig } from "../../server/config.ts";
import { parseAllowList } from "../../server/core/address.ts";
import type { Customer } from "../../server/core/customer.ts";
import { type CustomerId, createIdSource, type InstanceId, type NewId, type Random } from "../../server/core/id.ts";
import type { Instance } from "../../server/core/instance.ts";
import { type ApiKey, hashKey, last4Of, newKey } from "../../server/core/key.ts";
import type { CustomerNumber } from "../../server/core/number.ts";
import { SerialQueue } from "../../server/core/serial-queue.ts";
import { newSigningSecret } from "../../server/core/signature.ts";
import { LINK_KEY_BYTES } from "../../server/core/signed-link.ts";
import { apply } from "../../server/engine/apply.ts";
import { ThreadCache } from "../../server/engine/chats/thread-cache.ts";
import { TypingContacts } from "../../server/engine/chats/typing-contacts.ts";
import { TypingIndicators } from "../../server/engine/chats/typing-indicators.ts";
import { ConfigCache } from "../../server/engine/config-cache.ts";
import { OptOutCache } from "../../server/engine/contacts/opt-out-cache.ts";
import type { EngineSettings } from "../../server/engine/deps.ts";
import type { EngineDeps } from "../../server/engine/engine-deps.ts";
import { EventNotifier } from "../../server/engine/event-notifier.ts";
import { Connections } from "../../server/engine/instances/connections.ts";
import { soleMember } from "../../server/engine/members/membership.ts";
import { attemptsOf } from "../../server/engine/messages/attempt-notes.ts";
import { BackPressure } from "../../server/engine/messages/back-pressure.ts";
import { MessageCache } from "../../server/engine/messages/message-cache.ts";
import type { AttemptOutcome, Observer } from "../../server/engine/observer.ts";
import { customerSecretPlace } from "../../server/engine/secret-places.ts";
import { SignedLinks } from "../../server/engine/signed-links.ts";
import { AttemptFeed } from "../../server/engine/webhooks/attempt-feed.ts";
import { GoneMarks } from "../../server/engine/webhooks/gone-marks.ts";
import type { OwnLimit } from "../../server/outgoing/connection.ts";
import type { FileFetcher } from "../../server/outgoing/fetch.ts";
import type { Provider } from "../../server/providers/provider.ts";
import { createProvider } from "../../server/providers/registry.ts";
import { createSealer } from "../../server/secrets.ts";
import { openSqliteInProcess, type Ports } from "../../server/store/sqlite/store.ts";
import type { Store, Transaction } from "../../server/store/store.ts";
import { SimulatedClock } from "./clock.ts";

/** A customer with one number on the sandbox instance, and its own key. */
export interface Tenant {
  customer: Customer;
  number: CustomerNumber;
  /** The stored key, and the key itself as it goes into `Authorization: Bearer`. */
  apiKey: ApiKey;
  key: string;
}

/** The calls that the engine made to its observer. */
export interface Observed {
  accepted: number;
  sent: number;
  received: number;
  unknownOutcomes: number;
  clockSteps: number[];
  breakersOpen: number;
  attempts: AttemptOutcome[];
  outOf: OwnLimit[];
  faults: { where: string; error: unknown }[];
}

/** A context and its first records. No loop runs: waking a loop only adds its lanes to `woken`. */
export interface TestContext extends Tenant {
  deps: EngineDeps;
  clock: SimulatedClock;
  instance: Instance;
  /** Add an instance's provider here; it is `context.providers`. */
  providers: Map<InstanceId, Provider>;
  /** The lag that accepts see, in milliseconds. */
  lagMs: { dispatch: number; deliver: number };
  woken: { messages: string[]; deliveries: string[] };
  observed: Observed;
  /** Adds a customer, with the next number. */
  addTenant(name: string): Promise<Tenant>;
  /** Closes the store. */
  close(): Promise<void>;
}

/** Differences of a test: settings, dependencies, or a database file in place of memory. */
export interface TestContextOptions {
  /** The store, which the context closes; default: a new one in memory. */
  store?: Store;
  settings?: Partial<EngineSettings>;
  /** Replaced dependencies. */
  deps?: Partial<EngineDeps>;
  path?: string;
  /** Wraps the store's database. */
  through?: (ports: Ports) => Ports;
}

const HOUR_MS = 3_600_000;

/** Fetches nothing: each address is deferred. A test that fetches replaces it. */
export const NO_FETCHER: FileFetcher = {
  fetch: async () => ({ deferred: "was not fetched: there is no network in this test" }),
  hold: () => () => {},
};

/** Ordinary settings: loopback receivers are allowed, the default retry schedule, no fallback time. */
const TEST_SETTINGS: EngineSettings = {
  isLocalOnly: true,
  webhookAllow: parseAllowList("loopback"),
  fetchAllow: parseAllowList("loopback"),
  webhookRetryScheduleMs: readConfig({}).webhookRetryScheduleMs,
  webhookConcurrency: 64,
  fallbackAfterMs: null,
  messageTtlMs: 72 * HOUR_MS,
  retentionMs: 30 * 24 * HOUR_MS,
  sandboxInbox: true,
  paymentText: false,
  smartEncoding: false,
};

/** Bytes that look random and are the same in every run with this seed. */
function repeatableRandom(seed = "tightbeam"): Random {
  let drawn = 0;
  return (size) => {
    const chunks: Buffer[] = [];
    for (let length = 0; length < size; length += 32) {
      drawn += 1;
      chunks.push(createHash("sha256").update(`${seed} ${drawn}`).digest());
    }
    return Buffer.concat(chunks).subarray(0, size);
  };
}

/**
 * Makes a context with one customer (`secretKnown` false), its default number `+15550000001` on the sandbox instance,
 * and a `messages` key. Jitter is 0. The test closes it.
 */
export async function testContext(options: TestContextOptions = {}): Promise<TestContext> {
  const clock = new SimulatedClock();
  const random = repeatableRandom();
  const store =
    options.store ?? (await openSqliteInProcess(options.path, undefined, options.through, () => clock.monotonic()));
  const providers = new Map<InstanceId, Provider>();
  const lagMs = { dispatch: 0, deliver: 0 };
  const woken: TestContext["woken"] = { messages: [], deliveries: [] };
  const observed: Observed = {
    accepted: 0,
    sent: 0,
    received: 0,
    unknownOutcomes: 0,
    clockSteps: [],
    breakersOpen: 0,
    attempts: [],
    outOf: [],
    faults: [],
  };
  const threadCache = new ThreadCache();
  const eventNotifier = new EventNotifier();
  const deps: EngineDeps = {
    store,
    clock,
    shift: clock.ahead,
    newId: createIdSource(() => clock.real(), random),
    random,
    chance: () => 0,
    sealer: createSealer(Buffer.alloc(32, 7), random),
    settings: { ...TEST_SETTINGS, ...options.settings },
    configCache: new ConfigCache(store.db),
    backPressure: new BackPressure({ clock, store }, { lagMs: () => lagMs, ended: () => 0 }),
    messageCache: new MessageCache(),
    threadCache,
    generation: () => threadCache.generation,
    refused: (transaction) => threadCache.dropRequired(transaction),
    typingContacts: new TypingContacts(),
    typingIndicators: new TypingIndicators(),
    optOutCache: new OptOutCache(store.db),
    eventNotifier,
    attempted: new AttemptFeed(),
    goneMarks: new GoneMarks(() => deps),
    signedLinks: new SignedLinks(Buffer.alloc(LINK_KEY_BYTES, 9)),
    fetcher: NO_FETCHER,
    serial: new SerialQueue(),
    publicUrl: () => "http://127.0.0.1:8080",
    link: (token) => `http://127.0.0.1:8080/v1/attachments/${token}`,
    connections: new Connections(
      createProvider,
      { apply: (id, signal) => apply(deps, id, signal), attempts: (id) => attemptsOf(() => deps, id) },
      providers,
    ),
    providers,
    membership: soleMember(),
    leaveSandbox: async () => {},
    keyChanged: () => {},
    observer: observerOf(observed),
    wake: {
      messages: (lanes) => void woken.messages.push(...lanes),
      deliveries: (lanes) => void woken.deliveries.push(...lanes),
      resetDeliveries: async () => {},
      repaired: () => {},
      events: (transaction) => eventNotifier.notify(transaction),
      pausedLanes: () => {},
      chores: () => {},
    },
    ...options.deps,
  };
  const instance: Instance = {
    id: deps.newId("inst"),
    name: "Sandbox",
    provider: "sandbox",
    version: 1,
    config: null,
    createdAt: clock.now(),
    updatedAt: clock.now(),
  };
  await commitAll(deps, [{ op: "insert", table: "instances", record: instance }]);
  let tenants = 0;
  const addTenant = (name: string) => {
    tenants += 1;
    return insertTenant(deps, { name, instance, address: `+1555${String(tenants).padStart(7, "0")}` });
  };
  const tenant = await addTenant("Test customer");
  const close = () => deps.store.close();
  return { ...tenant, deps, clock, instance, providers, lagMs, woken, observed, addTenant, close };
}

/** Commits a transaction with records of a test. Throws if it is refused. */
export async function commitAll(deps: Pick<EngineDeps, "store">, transaction: Transaction): Promise<void> {
  const { result } = await deps.store.commit(transaction);
  if (result !== "ok") throw new Error(`the test's own records were refused: ${result}`);
}

/** A usable key: the record, and the plain key. An admin key if `customerId` is null. */
export function testKey(
  { newId, random, clock }: { newId: NewId; random: Random; clock: { real(): number } },
  customerId: CustomerId | null,
): { apiKey: ApiKey; key: string } {
  const key = newKey(random);
  const apiKey: ApiKey = {
    id: newId("key"),
    version: 1,
    name: "Test key",
    customerId,
    scope: customerId === null ? "admin" : "messages",
    permissions: customerId === null ? [] : ["read", "send", "webhooks"],
    hash: hashKey(key),
    last4: last4Of(key),
    rateLimit: null,
    createdAt: clock.real(),
    lastUsedAt: null,
    expiresAt: null,
    revokedAt: null,
    replacedBy: null,
  };
  return { apiKey, key };
}

async function insertTenant(
  deps: EngineDeps,
  { name, instance, address }: { name: string; instance: Instance; address: string },
): Promise<Tenant> {
  const { newId, random, clock, sealer } = deps;
  const id = newId("cust");
  const customer: Customer = {
    id,
    version: 1,
    name,
    email: null,
    company: null,
    secret: sealer.seal(newSigningSecret(random), customerSecretPlace(id)),
    secretKnown: false,
    previousSecret: null,
    previousSecretUntil: null,
    routes: [],
    quietHours: null,
    optOuts: null,
    createdAt: clock.now(),
    updatedAt: clock.now(),
  };
  const number: CustomerNumber = {
    id: newId("num"),
    customerId: id,
    address,
    provider: instance.provider,
    instanceId: instance.id,
    isDefault: true,
    createdAt: clock.now(),
  };
  const { apiKey, key } = testKey(deps, id);
  await commitAll(deps, [
    { op: "insert", table: "customers", record: customer },
    { op: "insert", table: "numbers", record: number },
    { op: "insert", table: "keys", record: apiKey },
  ]);
  return { customer, number, apiKey, key };
}

function observerOf(observed: Observed): Observer {
  return {
    accepted() {
      observed.accepted += 1;
    },
    emitted() {},
    sent() {
      observed.sent += 1;
    },
    received() {
      observed.received += 1;
    },
    unknownOutcome() {
      observed.unknownOutcomes += 1;
    },
    breakersOpen(count) {
      observed.breakersOpen = count;
    },
    clockStepped(ms) {
      observed.clockSteps.push(ms);
    },
    attempted(_, outcome) {
      observed.attempts.push(outcome);
    },
    outOf(limit) {
      observed.outOf.push(limit);
    },
    dueLag() {},
    inFlight() {},
    fault(where, error) {
      observed.faults.push({ where, error });
    },
  };
}
