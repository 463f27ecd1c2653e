/** The sandbox's built-in inbox: the address that receives signed webhooks, and the routes that show and configure it. */

import { isUtf8 } from "node:buffer";
import { addAbortListener } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import { SetInboxBehaviour } from "../../contract/sandbox.ts";
import { ERROR_STATUS, type ErrorCode, type Inbox, type Success } from "../../sdk/wire.ts";
import { setBounded } from "../core/bounded-map.ts";
import { ApiError } from "../core/error.ts";
import type { CustomerId } from "../core/id.ts";
import {
  emptyInbox,
  eraseInInbox,
  eventsOfInbox,
  type InboxResponse,
  type InboxState,
  inboxRequests,
  openInbox,
  receiveInInbox,
  setInboxBehaviour,
} from "../core/inbox.ts";
import { iso } from "../core/instant.ts";
import { NotRunningHere } from "../core/not-running-here.ts";
import { verifySignature } from "../core/signature.ts";
import type { Endpoint } from "../core/webhook.ts";
import { INBOX_PATH } from "../engine/customers/create-customer.ts";
import type { With } from "../engine/engine-deps.ts";
import { requireSandbox } from "../engine/sandbox/sandbox.ts";
import { endpointSecretPlace } from "../engine/secret-places.ts";
import { findEventBytes } from "../store/events.ts";
import { findInbox, findInboxByUrl } from "../store/inboxes.ts";
import { joinedHeaders } from "./joined-headers.ts";
import { renderFailure } from "./pipeline/errors.ts";
import { type ApiResponse, type Caller, type PublicRequest, publicRoute, type Route, route } from "./route.ts";

/** Largest body that an inbox accepts, in bytes: four times the largest event. */
const BODY_BYTES_MAX = 1_048_576;
/** How far a signature's timestamp may be off, in seconds. */
const TOLERANCE_SECONDS = 300;
/** Inboxes in memory; beyond this number, the least recently used one is emptied. */
const INBOXES_MAX = 1_000;
/** Characters kept in all inboxes together; beyond this number, the fullest inbox loses the older half of its requests. */
const KEPT_LENGTH_MAX = 64 * 1_048_576;

const TOKEN = /^[0-9a-f]{32}$/;

interface KeptInbox {
  endpoint: Endpoint;
  inbox: InboxState;
}

/** The requests that all inboxes have received, in memory: a restart empties them. `url` makes a full address of a path. */
export class Inboxes {
  readonly #deps: With<"configCache" | "membership" | "sealer">;
  readonly #url: (path: string) => string;
  /** By address, the most recently used last. */
  readonly #kept = new Map<string, KeptInbox>();
  /** Characters in all inboxes at the last count, and received since. */
  #length = 0;
  /** Functions that end the pending delays. */
  readonly #delays = new Set<() => void>();
  #stopped = false;

  constructor(deps: With<"configCache" | "membership" | "sealer">, url: (path: string) => string) {
    this.#deps = deps;
    this.#url = url;
  }

  /**
   * The inbox of a customer, after `change`. The texts of events that any process has erased are gone from it, and from memory. Throws 404
   * `NOT_FOUND` if inboxes are off.
   */
  async ofCustomer(customerId: CustomerId, change: (inbox: InboxState) => void = () => {}): Promise<Inbox> {
    await requireSandbox(this.#deps, customerId);
    await this.requireHere(customerId);
    const endpoint = await findInbox(this.#deps.store.db, customerId);
    if (endpoint === null || !endpoint.active) throw new ApiError("NOT_FOUND", "This customer has no inbox.");
    const { inbox } = this.#keep(endpoint);
    change(inbox);
    const events = eventsOfInbox(inbox);
    const stored = await findEventBytes(this.#deps.store.lists(customerId), customerId, events);
    eraseInInbox(inbox, stored);
    const { behaviour } = inbox;
    return { url: this.#url(endpoint.url), secret: this.#secret(endpoint), behaviour, requests: inboxRequests(inbox) };
  }

  /**
   * Throws `NotRunningHere` if another process keeps the customer's inbox: the owner of the instance of the customer's first number.
   */
  async requireHere(customerId: CustomerId): Promise<void> {
    const { configCache, membership } = this.#deps;
    if (membership.isAlone) return;
    const [first] = await configCache.numbers(customerId);
    if (first === undefined || membership.owns(first.instanceId)) return;
    if (membership.ownerOf(first.instanceId) !== null)
      throw new NotRunningHere(first.instanceId, "The inbox of this customer");
  }

  /** The inbox with this token; null if there is none. */
  async find(token: string): Promise<Endpoint | null> {
    if (!TOKEN.test(token)) return null;
    const url = INBOX_PATH + token;
    const endpoint = this.#kept.get(url)?.endpoint ?? (await findInboxByUrl(this.#deps.store.db, url));
    return endpoint?.active === true ? endpoint : null;
  }

  /** Keeps a request to this inbox, and returns how to respond. */
  receive(endpoint: Endpoint, headers: IncomingHttpHeaders, body: Buffer): InboxResponse {
    const { clock } = this.#deps;
    const verified = verifySignature({
      body,
      headers,
      secret: this.#secret(endpoint),
      toleranceSeconds: TOLERANCE_SECONDS,
      nowSeconds: Math.floor(clock.real() / 1_000),
    });
    const request = {
      receivedAt: iso(clock.now()),
      ...(clock.aheadMs() === 0 ? {} : { realAt: iso(clock.real()) }),
      verified,
      headers: joinedHeaders(headers),
      // A body that is not UTF-8 is shown with one character for each byte, so that nothing is lost.
      body: body.toString(isUtf8(body) ? "utf8" : "latin1"),
    };
    const answer = receiveInInbox(this.#keep(endpoint).inbox, request);
    this.#length += lengthOf(request);
    if (this.#length > KEPT_LENGTH_MAX) this.#trim();
    return answer;
  }

  /** Waits for the configured delay; ends early if the client has gone or the process stops. */
  delay(ms: number, gone: PublicRequest["gone"]): Promise<void> {
    if (ms === 0 || this.#stopped) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        this.#delays.delete(end);
        resolve();
      };
      const cancel = this.#deps.clock.after(ms, end);
      this.#delays.add(end);
      addAbortListener(gone(), end);
    });
  }

  /** Ends all pending delays; later requests are not delayed. */
  stop(): void {
    this.#stopped = true;
    for (const end of [...this.#delays]) end();
  }

  #secret(endpoint: Endpoint): string {
    if (endpoint.secret === null) throw new Error(`the inbox ${endpoint.id} has no secret`);
    return this.#deps.sealer.open(endpoint.secret, endpointSecretPlace(endpoint.id));
  }

  #keep(endpoint: Endpoint): KeptInbox {
    const { url } = endpoint;
    const kept = this.#kept.get(url) ?? { endpoint, inbox: openInbox() };
    setBounded(this.#kept, url, kept, INBOXES_MAX);
    return kept;
  }

  #trim(): void {
    const inboxes = [...this.#kept.values()].map(({ inbox }) => ({ inbox, length: keptLength(inbox) }));
    this.#length = inboxes.reduce((sum, { length }) => sum + length, 0);
    while (this.#length > KEPT_LENGTH_MAX) {
      const fullest = inboxes.reduce((most, one) => (one.length > most.length ? one : most));
      const { inbox } = fullest;
      inbox.kept = inbox.kept.slice(Math.ceil(inbox.kept.length / 2));
      this.#length -= fullest.length;
      fullest.length = keptLength(inbox);
      this.#length += fullest.length;
    }
  }
}

function keptLength(inbox: InboxState): number {
  return inbox.kept.reduce((sum, request) => sum + lengthOf(request), 0);
}

function lengthOf({ body, headers }: { body: string; headers: Record<string, string> }): number {
  return Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length, body.length);
}

/** `/v1/sandbox/inbox`: the received requests, and how the inbox responds. */
export function inboxRoutes(inboxes: Inboxes): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/sandbox/inbox",
      scope: "messages",
      async handle({ caller }) {
        return { data: shownTo(caller, await inboxes.ofCustomer(caller.customerId)) };
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/sandbox/inbox",
      scope: "messages",
      async handle({ caller }) {
        return { data: shownTo(caller, await inboxes.ofCustomer(caller.customerId, emptyInbox)) };
      },
    }),
    route({
      method: "PUT",
      path: "/v1/sandbox/inbox/behaviour",
      scope: "messages",
      body: SetInboxBehaviour,
      async handle({ caller, body }) {
        const change = (inbox: InboxState) => void setInboxBehaviour(inbox, body);
        return { data: shownTo(caller, await inboxes.ofCustomer(caller.customerId, change)) };
      },
    }),
  ];
}

/** The inbox as a key may see it: its secret signs requests that the inbox accepts. */
function shownTo({ key }: Pick<Caller, "key">, inbox: Inbox): Inbox {
  return { ...inbox, secret: key.permissions.includes("webhooks") ? inbox.secret : null };
}

/** The address of every inbox, without a key: the token in the path and the signature replace it. */
export function inboxReceiver(inboxes: Inboxes): Route {
  return publicRoute({
    method: "POST",
    path: `${INBOX_PATH}:token`,
    async handle({ params, headers, requestId, withBody, gone }) {
      const endpoint = await inboxes.find(params.token);
      // The body of a request to an unknown address is not read.
      if (endpoint === null) throw new ApiError("NOT_FOUND", "There is no inbox at this address.");
      await inboxes.requireHere(endpoint.customerId);
      const limits = { owner: endpoint.customerId, kind: "callback", bytesMax: BODY_BYTES_MAX } as const;
      const { status, delayMs } = await withBody(limits, (body) => inboxes.receive(endpoint, headers, body));
      await inboxes.delay(delayMs, gone);
      return responseOf(status, requestId);
    },
  });
}

/** The response with the status that the customer has set, which may be none of the API's. */
function responseOf(status: number, requestId: string): ApiResponse {
  const contentType = "application/json; charset=utf-8";
  if (status < 400) {
    const success: Success<{ received: true }> = { success: true, data: { received: true }, requestId };
    return { status, contentType, body: JSON.stringify(success) };
  }
  const message =
    status === 401 ? "The signature is not valid." : `The inbox responds with ${status}, as its behaviour says.`;
  return { status, contentType, body: renderFailure({ code: codeOf(status), message, details: undefined }, requestId) };
}

/** An error code with this status, or with the status of its class. */
function codeOf(status: number): ErrorCode {
  const codes = Object.entries(ERROR_STATUS) as [ErrorCode, number][];
  const found = codes.find(([, one]) => one === status);
  return found?.[0] ?? (status < 500 ? "VALIDATION_ERROR" : "INTERNAL_ERROR");
}
