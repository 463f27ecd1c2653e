/** Provider for BlueBubbles: sends iMessage, and SMS if the Mac forwards it, through one Mac. Composes the parts below. */

// Outbound: `send.ts` sends messages, `open-attempts.ts` notes each attempt before its requests, `reconcile.ts` finds out whether an
// unanswered attempt was sent, `actions.ts` does everything but send. Inbound, composed by `ingest.ts`: `socket.ts` or
// `hook.ts` receive events. `row-notifications.ts` looks up the rows that those events name; `backfill.ts` and
// `receipt-poller.ts` read the rows that no event named. `row-reporter.ts` turns rows into signals, in order per contact
// (`row-queue.ts`). `live-events.ts` reports events that have no row. A message is identified by its guid, a group by the
// guid of its chat, a file by its own guid. Outbound owns the memory keys `group-name/…` and `new-chats`.

import { SignalOutbox } from "../kit/signal-outbox.ts";
import type {
  Actions,
  Applied,
  Capabilities,
  Health,
  HookRequest,
  HookResponse,
  Outbound,
  Outcome,
  Provider,
  ProviderContext,
  Signal,
} from "../provider.ts";
import { createActions } from "./actions.ts";
import { ChatGuids } from "./chat-guids.ts";
import { MacClient } from "./client.ts";
import { MacHealth } from "./health.ts";
import { Ingest } from "./ingest.ts";
import type { Mac, MacSettings } from "./mac.ts";
import { NewChatLimit } from "./new-chat-limit.ts";
import { NewGroups } from "./new-groups.ts";
import { down } from "./outcomes.ts";
import { PrivateApiRateLimiter } from "./rate-limiter.ts";
import { MacSender } from "./send.ts";
import { macosMajor } from "./status.ts";

/**
 * `concurrency` is twice the number of sends that a Mac completes in a second. `sendTimeoutMs` covers the longest attempt:
 * a text that begins a conversation (190 s), the upload of its files (240 s) and the message that carries them (190 s).
 * Reconciliation may ask soon: it knows by itself how long the Mac may still need to send.
 */
export const BLUEBUBBLES_CAPABILITIES: Capabilities = {
  channels: ["imessage", "sms"],
  smsFiles: "media",
  concurrency: 8,
  sendTimeoutMs: 700_000,
  reconcileAfterMs: 2_000,
  seesPayments: true,
  mergesGroups: true,
};

const IMESSAGE_ALONE: Capabilities = { ...BLUEBUBBLES_CAPABILITIES, channels: ["imessage"] };

/** Apple publishes no limit. Users report blocked accounts at some 200 new recipients an hour (Jared, issue 65). */
const NEW_CHATS_PER_HOUR = 15;

/** Creates the provider for the Mac of the instance's settings. The provider connects at `start`. */
export function createBluebubbles(context: ProviderContext): Provider {
  return new Bluebubbles(context);
}

class Bluebubbles implements Provider {
  readonly name = "bluebubbles";
  readonly actions: Partial<Actions>;
  readonly #mac: Mac;
  readonly #ingest: Ingest;
  readonly #sender: MacSender;
  readonly #newGroups: NewGroups;
  #isStopped = false;
  readonly #outbox: SignalOutbox;

  constructor(context: ProviderContext) {
    this.#mac = macOf(context);
    const { clock, memory } = context;
    this.#outbox = new SignalOutbox(clock);
    const report = (signal: Signal) => this.#outbox.report(signal);
    this.#ingest = new Ingest(this.#mac, report);
    this.#newGroups = new NewGroups(this.#mac, report);
    const newChats = new NewChatLimit(clock, memory, this.#mac.settings.newChatsPerHour);
    this.#sender = new MacSender(this.#mac, newChats, {
      pollReceipts: (guid, sent) => this.#ingest.pollReceipts(guid, sent),
      noteOf: (guid) => this.#ingest.noteOf(guid),
      groupCreated: (message, guid) => this.#newGroups.groupCreated(message, guid),
      report,
    });
    this.actions = createActions(this.#mac, this.#newGroups);
  }

  /** Leaves SMS out once the Mac has reported that it forwards none. */
  get capabilities(): Capabilities {
    return this.#mac.health.isKnownWithoutSms ? IMESSAGE_ALONE : BLUEBUBBLES_CAPABILITIES;
  }

  get isUp(): boolean {
    return this.#mac.health.isUp;
  }

  async start(signals: (signal: Signal) => Promise<Applied>): Promise<void> {
    this.#outbox.begin(signals);
    const noted = await this.#mac.context.attempts.noted();
    await Promise.all([this.#sender.load(noted), this.#newGroups.load()]);
    this.#mac.health.start(() => this.#ingest.backfillNow());
    await this.#ingest.start(noted);
  }

  async send(message: Outbound, abort: AbortSignal): Promise<Outcome> {
    return this.#isStopped ? down("the connection to the Mac is closing") : this.#sender.send(message, abort);
  }

  reconcile(message: Outbound): Promise<Outcome | "absent"> {
    return this.#sender.reconcile(message);
  }

  receive(request: HookRequest): Promise<HookResponse> {
    return this.#ingest.receive(request);
  }

  async health(): Promise<Health> {
    return this.#ingest.withWarnings(await this.#mac.health.health());
  }

  remove(): Promise<void> {
    this.#isStopped = true;
    return this.#ingest.remove();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    const { rateLimiter, health, client } = this.#mac;
    rateLimiter.stop();
    const checked = health.stop();
    await this.#ingest.stop();
    // Requests still in flight end with their connections. The next process reconciles them.
    await client.close();
    await Promise.all([checked, this.#sender.stop()]);
    await this.#outbox.stop();
  }
}

function macOf(context: ProviderContext): Mac {
  const { clock, numbers, mayWrite, changed } = context;
  const settings = settingsOf(context.config);
  const client = new MacClient({ url: settings.url, password: settings.password, clock, mayWrite });
  const rateLimiter = new PrivateApiRateLimiter(clock);
  const health = new MacHealth({ client, rateLimiter, clock, numbers, changed });
  const chatGuids = new ChatGuids({ client, macosMajor: () => macosMajor(health.info) });
  return { context, settings, client, rateLimiter, chatGuids, health };
}

/** Reads the settings, which were validated before they were stored. */
function settingsOf({ url, password, ingest, newChatsPerHour }: ProviderContext["config"]): MacSettings {
  return {
    url: String(url),
    password: String(password),
    ingest: ingest === "socket" ? "socket" : "webhook",
    newChatsPerHour: typeof newChatsPerHour === "number" ? newChatsPerHour : NEW_CHATS_PER_HOUR,
  };
}
