/** The Mac's webhook to us: registered on our own path with the events that are used, and found again when it is gone. */

import { jsonOf, listOf, numberOf, recordOf, textOf } from "../../core/loose-json.ts";
import { type HookRequest, type HookResponse, PeerFault } from "../provider.ts";
import { describeFailure, type Failure, isNotFound, type Limits } from "./client.ts";
import type { Mac } from "./mac.ts";
import { ROW_EVENTS } from "./row-notifications.ts";

/** What the Mac is to tell. Never `*`: that tells where people are (Find My), and more. */
export const HOOK_EVENTS: readonly string[] = [
  ...ROW_EVENTS,
  "typing-indicator",
  "incoming-facetime",
  "ft-call-status-changed",
  "imessage-alias-removed",
  "hello-world",
];

/** Our path below the instance's hook. */
const PATH = "/mac";

/** Each request of those that take our webhook away has so long: whoever deletes the instance waits. */
const REMOVED_WITHIN_MS = 3_000;

const ANSWER: HookResponse = { status: 200 };

interface RegisteredWebhook {
  id: number;
  url: string;
  events: readonly string[];
}

/** The webhook of one instance: wanted, or not wanted and to be gone. */
export class Hook {
  readonly #mac: Mac;
  readonly #limits: Limits;
  readonly #hear: (type: string, data: unknown) => void;
  #isWanted: boolean;
  #problem: string | null = null;
  /** That a Mac that is listened to at its socket does not call here: made sure of once. */
  #isGone = false;

  /** `hear` is given what the Mac posts. */
  constructor(mac: Mac, limits: Limits, hear: (type: string, data: unknown) => void) {
    this.#mac = mac;
    this.#limits = limits;
    this.#hear = hear;
    this.#isWanted = mac.settings.ingest === "webhook";
  }

  /** Why the Mac does not call here, in words for an operator; null when it does, or need not. */
  get problem(): string | null {
    return this.#problem;
  }

  /**
   * Makes it so that the Mac calls here with our events, once, or, where it is listened to at its socket, not at all.
   * Costs one request when all is as it should be. Never throws: `problem` tells.
   */
  async ensure(): Promise<void> {
    const { settings, context } = this.#mac;
    if (this.#isGone) return;
    if (this.#isWanted && isLoopback(context.hookUrl()) && !isLoopback(settings.url)) {
      this.#problem = "it cannot reach this service at a loopback address (TB_PUBLIC_URL)";
      return;
    }
    const failure = await this.#arrange();
    this.#isGone = failure === null && !this.#isWanted;
    this.#problem = failure === null || !this.#isWanted ? null : describeFailure(failure);
  }

  /**
   * Takes what the Mac posts. Nobody signed it: it is a hint to look, and no evidence. It is answered before anything is
   * done with it: the Mac posts everything once, whatever it is answered, so an answer that waits would only hold up the Mac.
   */
  async receive({ method, path, body }: HookRequest): Promise<HookResponse> {
    // Where it is listened to at its socket the Mac calls nowhere: whoever calls here is somebody else.
    if (path !== PATH || method !== "POST" || !this.#isWanted) return { status: 404 };
    const event = recordOf(jsonOf(body));
    const type = textOf(event?.type);
    if (type !== null) this.#hear(type, event?.data ?? null);
    return ANSWER;
  }

  /** Takes our webhook away, within seconds. Throws where the Mac may have it yet. */
  async remove(): Promise<void> {
    this.#isWanted = false;
    const failure = await this.#arrange({ ...this.#limits, limitMs: REMOVED_WITHIN_MS });
    if (failure === null) return;
    throw new PeerFault(
      `our webhook may be registered at the Mac yet (${describeFailure(failure)}): remove it in BlueBubbles`,
    );
  }

  async #arrange(limits = this.#limits): Promise<Failure | null> {
    const { client, context } = this.#mac;
    const url = `${context.hookUrl()}${PATH}`;
    const answer = await client.get("/webhook", {}, limits);
    if (answer.kind !== "ok") return answer;
    const own = listOf(answer.data, registered).filter((one) => isOurs(one.url, context.instanceId));
    const right = this.#isWanted ? own.find((one) => one.url === url && isSameSet(one.events, HOOK_EVENTS)) : undefined;
    // An address that the Mac knows keeps its old events, whatever is asked for: it has to go first.
    for (const { id } of own.filter((one) => one !== right)) {
      const deleted = await client.delete(`/webhook/${id}`, undefined, limits);
      if (deleted.kind !== "ok" && !isNotFound(deleted)) return deleted;
    }
    if (!this.#isWanted || right !== undefined) return null;
    const made = await client.post("/webhook", { url, events: HOOK_EVENTS }, limits);
    return made.kind === "ok" ? null : made;
  }
}

/** Whether an address is this instance's hook, also under another host or with another token: those of before. */
function isOurs(url: string, instanceId: string): boolean {
  return url.includes(`/hooks/${instanceId}/`) && url.endsWith(PATH);
}

function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === "localhost" || hostname === "[::1]" || /^127\./.test(hostname);
}

function registered(value: unknown): RegisteredWebhook | null {
  const record = recordOf(value);
  const id = numberOf(record?.id);
  const url = textOf(record?.url);
  return id === null || url === null ? null : { id, url, events: listOf(record?.events, textOf) };
}

function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && other.every((event) => one.includes(event));
}
