/** The outbound half of a BlueBubbles instance on a memory of its own, against a fake Mac in simulated time. */

import type { TestContext } from "node:test";
import type { MessageId } from "../../server/core/id.ts";
import { createActions } from "../../server/providers/bluebubbles/actions.ts";
import { formatSent } from "../../server/providers/bluebubbles/attempt-note.ts";
import { ChatGuids } from "../../server/providers/bluebubbles/chat-guids.ts";
import { MacClient } from "../../server/providers/bluebubbles/client.ts";
import { MacHealth } from "../../server/providers/bluebubbles/health.ts";
import type { Mac } from "../../server/providers/bluebubbles/mac.ts";
import { NewChatLimit } from "../../server/providers/bluebubbles/new-chat-limit.ts";
import { NewGroups } from "../../server/providers/bluebubbles/new-groups.ts";
import { PrivateApiRateLimiter } from "../../server/providers/bluebubbles/rate-limiter.ts";
import { MacSender } from "../../server/providers/bluebubbles/send.ts";
import { macosMajor } from "../../server/providers/bluebubbles/status.ts";
import type { Memory, Outbound, Outcome, OwnAddress, Signal } from "../../server/providers/provider.ts";
import { ABSENT, AttemptsKept, attemptsIn, withoutNotes } from "./attempts.ts";
import { SimulatedClock } from "./clock.ts";
import { type Mac as FakeMac, type MacOptions, startMac } from "./mac/mac.ts";
import { outboundMessage } from "./outbound.ts";
import { providerContext } from "./provider.ts";

const NEVER = new AbortController().signal;
/** Step of simulated time while a result is awaited. */
const STEP_MS = 250;

/** A memory over a map, which a later process can be given; writes fail while `isFull`. */
export function mapMemory(entries: Map<string, string>, disk = { isFull: false }): Memory {
  const write = () => {
    if (disk.isFull) throw new Error("the disk is full");
  };
  return {
    list: async (prefix) =>
      [...entries].filter(([key]) => key.startsWith(prefix)).map(([key, value]) => ({ key, value })),
    put: async (key, value) => {
      write();
      entries.set(key, value);
    },
    delete: async (key) => {
      write();
      entries.delete(key);
    },
  };
}

export interface StageOptions extends Omit<MacOptions, "clock"> {
  newChatsPerHour?: number;
  /** The instance's password, if it differs from the Mac's. */
  instancePassword?: string;
  numbers?: readonly string[];
}

interface StageDisk {
  isFull: boolean;
  /** Whether outcomes do not come to the disk, as if the process died before. */
  losesOutcomes: boolean;
}

export type Stage = Awaited<ReturnType<typeof stageMac>>;

/** A fake Mac, and successive processes that use it. */
export async function stageMac(t: TestContext, options: StageOptions = {}) {
  const { newChatsPerHour = 60, instancePassword, numbers = ["+15550000001"], ...macOptions } = options;
  const clock = new SimulatedClock();
  const fake = await startMac({ ...macOptions, clock });
  t.after(() => fake.stop());
  const entries = new Map<string, string>();
  const attempts = new AttemptsKept();
  const disk: StageDisk = { isFull: false, losesOutcomes: false };
  const password = instancePassword ?? fake.password;
  const begin = () => beginProcess({ fake, clock, entries, attempts, disk, password, newChatsPerHour, numbers });
  let process = await begin();
  t.after(() => process.stop());
  let messages = 0;
  return {
    fake,
    clock,
    entries,
    attempts,
    disk,
    get process() {
      return process;
    },
    /** Ends or kills the process, and starts the next one on the same disk. */
    async restart({ dies = false } = {}): Promise<void> {
      if (!dies) await process.stop();
      const dead = process;
      dead.isDead = true;
      process = await begin();
      if (dies) t.after(() => dead.stop());
    },
    /** A message with its own id, by default to a phone with iMessage. */
    message(more: Partial<Outbound> = {}): Outbound {
      messages += 1;
      const messageId = `msg_${String(messages).padStart(4, "0")}` as MessageId;
      return outboundMessage({ messageId, to: "+15551230001", attemptedAt: clock.now(), ...more });
    },
    send: (message: Outbound, abort = NEVER): Promise<Outcome> =>
      driven(fake, clock, process.sender.send(message, abort)),
    sendAll: (messages: readonly Outbound[]): Promise<Outcome[]> =>
      driven(fake, clock, Promise.all(messages.map((message) => process.sender.send(message, NEVER)))),
    reconcile: (message: Outbound): Promise<Outcome | "absent"> =>
      driven(fake, clock, process.sender.reconcile(message)),
    driven: <Value>(work: Promise<Value>): Promise<Value> => driven(fake, clock, work),
  };
}

interface Parts {
  fake: FakeMac;
  clock: SimulatedClock;
  entries: Map<string, string>;
  attempts: AttemptsKept;
  disk: StageDisk;
  password: string;
  newChatsPerHour: number;
  numbers: readonly string[];
}

/** One process, whose state in memory is lost at its end. */
async function beginProcess(parts: Parts) {
  const { fake, clock, entries, attempts, disk, password, newChatsPerHour, numbers } = parts;
  const signals: Signal[] = [];
  const polled: string[] = [];
  const faults: unknown[] = [];
  const changes = { count: 0 };
  const own: OwnAddress[] = numbers.map((address, index) => ({
    address,
    customerId: "cust_1",
    isDefault: index === 0,
  }));
  const memory = mapMemory(entries, disk);
  const write = async (change: () => void) => {
    if (disk.isFull) throw new Error("the disk is full");
    change();
  };
  const context = providerContext({
    clock,
    memory,
    attempts: attemptsIn(attempts, write),
    numbers: async () => own,
    changed: () => {
      changes.count += 1;
    },
    fault: (error) => void faults.push(error),
  });
  const settings = { url: fake.url, password, ingest: "webhook", newChatsPerHour } as const;
  const client = new MacClient({ ...settings, clock });
  const rateLimiter = new PrivateApiRateLimiter(clock);
  const health = new MacHealth({ client, rateLimiter, clock, numbers: context.numbers, changed: context.changed });
  const chatGuids = new ChatGuids({ client, macosMajor: () => macosMajor(health.info) });
  const mac: Mac = { context, settings, client, rateLimiter, chatGuids, health };
  const report = async (signal: Signal) => {
    signals.push(signal);
    attempts.apply(signal);
    return "applied" as const;
  };
  const newGroups = new NewGroups(mac, report);
  const sender = new MacSender(mac, new NewChatLimit(clock, memory, newChatsPerHour), {
    pollReceipts: (guid) => void polled.push(guid),
    noteOf: (guid) => (polled.includes(guid) ? formatSent(clock.real()) : undefined),
    groupCreated: (message, guid) => newGroups.groupCreated(message, guid),
    report,
  });
  await Promise.all([sender.load(attempts.noted), newGroups.load()]);
  const process = {
    mac,
    /** Whether its outcomes are lost, because it died before they were on disk. */
    isDead: false,
    sender: {
      send: (message: Outbound, abort: AbortSignal) => keep(message, (given) => sender.send(given, abort)),
      reconcile: (message: Outbound) => keep(message, (given) => sender.reconcile(given)),
    },
    newGroups,
    commands: createActions(mac, newGroups),
    signals,
    polled,
    faults,
    changes,
    async stop(): Promise<void> {
      rateLimiter.stop();
      const checked = health.stop();
      await client.close();
      await checked;
      await sender.stop();
    },
  };
  /** Gives the provider a message as the engine does, and keeps the outcome. */
  async function keep<Result extends Outcome | "absent">(
    message: Outbound,
    work: (given: Outbound) => Promise<Result>,
  ): Promise<Result> {
    const attemptedAt = message.attemptedAt + message.attempt - 1;
    const given = { ...message, attemptedAt, sentPart: message.sentPart ?? attempts.sentPart(message) };
    attempts.begin(given);
    const result = await work(given);
    const isLost = process.isDead || disk.isFull || disk.losesOutcomes;
    if (!isLost) attempts.conclude(given, result === "absent" ? ABSENT : result);
    return result === "absent" ? result : (withoutNotes(result) as Result);
  }
  return process;
}

/** Awaits `work`: simulated time advances whenever the Mac is idle. */
async function driven<Value>(fake: FakeMac, clock: SimulatedClock, work: Promise<Value>): Promise<Value> {
  let isDone = false;
  const end = () => {
    isDone = true;
  };
  work.then(end, end);
  for (;;) {
    await fake.idle();
    if (isDone) return work;
    await clock.advance(STEP_MS);
  }
}
