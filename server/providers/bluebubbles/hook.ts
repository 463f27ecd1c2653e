/** Webhook of the Mac: registers it at BlueBubbles with the events in use, and registers it again when it is gone. */

import { jsonOf, listOf, numberOf, recordOf, textOf } from "../../core/loose-json.ts";
import { type HookRequest, type HookResponse, PeerFault } from "../provider.ts";
import { describeFailure, type Failure, isNotFound, type Limits } from "./client.ts";
import type { Mac } from "./mac.ts";
import { ROW_EVENTS } from "./row-notifications.ts";

/** Events to subscribe to. Never `*`: that includes people's locations (Find My). */
export const HOOK_EVENTS: readonly string[] = [
  ...ROW_EVENTS,
  "typing-indicator",
  "incoming-facetime",
  "ft-call-status-changed",
  "imessage-alias-removed",
  "hello-world",
];

/** Path below the instance's hook URL. */
const PATH = "/mac";

/** Time limit of each request that removes the webhook: the caller that deletes the instance waits. */
const REMOVED_WITHIN_MS = 3_000;

const OK: HookResponse = { status: 200 };

interface RegisteredWebhook {
  id: number;
  url: string;
  events: readonly string[];
}

/** Webhook of one instance. In socket mode, or after `remove`, it must not exist. */
export class Hook {
  readonly #mac: Mac;
  readonly #limits: Limits;
  readonly #onEvent: (type: string, data: unknown) => void;
  #isWanted: boolean;
  #problem: string | null = null;
  /** In socket mode: the webhook is known not to exist. */
  #isGone = false;

  /** `onEvent` receives what the Mac posts. */
  constructor(mac: Mac, limits: Limits, onEvent: (type: string, data: unknown) => void) {
    this.#mac = mac;
    this.#limits = limits;
    this.#onEvent = onEvent;
    this.#isWanted = mac.settings.ingest === "webhook";
  }

  /** Why the Mac sends no webhooks, for an operator; null if it does, or need not. */
  get problem(): string | null {
    return this.#problem;
  }

  /**
   * Ensures that our webhook is registered exactly once with our events, or in socket mode not at all. Costs one request if
   * nothing has to change. Never throws: `problem` holds the reason.
   */
  async ensure(): Promise<void> {
    const { settings, context } = this.#mac;
    if (this.#isGone) return;
    if (this.#isWanted && isLoopback(context.hookUrl()) && !isLoopback(settings.url)) {
      this.#problem = "it cannot reach this service at a loopback address; set TB_PUBLIC_URL";
      return;
    }
    const failure = await this.#arrange();
    this.#isGone = failure === null && !this.#isWanted;
    this.#problem = failure === null || !this.#isWanted ? null : describeFailure(failure);
  }

  /**
   * Receives a request of the Mac. The request is not signed: it only says which rows to look up, and proves nothing. The
   * response goes out first, because BlueBubbles posts each event once, whatever the response.
   */
  async receive({ method, path, body }: HookRequest): Promise<HookResponse> {
    // In socket mode the Mac posts nothing: the request comes from somebody else.
    if (path !== PATH || method !== "POST" || !this.#isWanted) return { status: 404 };
    const event = recordOf(jsonOf(body));
    const type = textOf(event?.type);
    if (type !== null) this.#onEvent(type, event?.data ?? null);
    return OK;
  }

  /** Removes our webhook within seconds. Throws if it may still be registered. */
  async remove(): Promise<void> {
    this.#isWanted = false;
    const failure = await this.#arrange({ ...this.#limits, limitMs: REMOVED_WITHIN_MS });
    if (failure === null) return;
    throw new PeerFault(
      `our webhook may still be registered at the Mac (${describeFailure(failure)}): remove it in BlueBubbles`,
    );
  }

  async #arrange(limits = this.#limits): Promise<Failure | null> {
    const { client, context } = this.#mac;
    const url = `${context.hookUrl()}${PATH}`;
    const response = await client.get("/webhook", {}, limits);
    if (response.kind !== "ok") return response;
    const own = listOf(response.data, registered).filter((one) => isOwnHook(one.url, context.instanceId));
    const right = this.#isWanted ? own.find((one) => one.url === url && isSameSet(one.events, HOOK_EVENTS)) : undefined;
    // BlueBubbles never changes the events of a registered URL, so the old registration is deleted first.
    for (const { id } of own.filter((one) => one !== right)) {
      const deleted = await client.delete(`/webhook/${id}`, undefined, limits);
      if (deleted.kind !== "ok" && !isNotFound(deleted)) return deleted;
    }
    if (!this.#isWanted || right !== undefined) return null;
    const made = await client.post("/webhook", { url, events: HOOK_EVENTS }, limits);
    return made.kind === "ok" ? null : made;
  }
}

/** Whether a URL is a hook of this instance, possibly under an earlier host or token. */
function isOwnHook(url: string, instanceId: string): boolean {
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
