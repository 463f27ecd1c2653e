/**
 * Changes a customer's endpoints and secrets. Each change increments the customer's version, so that concurrent changes conflict, and
 * returns when the other processes that send webhooks have it.
 */

import type { CreateWebhook, SetWebhook, UpdateWebhook } from "../../../sdk/wire.ts";
import { checkAddress } from "../../core/address.ts";
import type { Customer } from "../../core/customer.ts";
import { ApiError, invalidField, refusedField } from "../../core/error.ts";
import type { CustomerId, EndpointId } from "../../core/id.ts";
import { newSigningSecret } from "../../core/signature.ts";
import type { Endpoint } from "../../core/webhook.ts";
import { findCustomer } from "../../store/customers.ts";
import type { Operation } from "../../store/store.ts";
import { listWebhooks } from "../../store/webhooks.ts";
import { change, difference } from "../commit.ts";
import { waitForSenders } from "../config-snapshot.ts";
import type { Deps } from "../deps.ts";
import type { With } from "../engine-deps.ts";
import { type IdempotentRequest, idempotent } from "../idempotency.ts";
import { customerSecretPlace, endpointSecretPlace } from "../secret-places.ts";
import { cancelDeliveriesOf } from "./cancel-deliveries.ts";
import { type EndpointRef, missing } from "./endpoints.ts";
import { stopWithEndpoint } from "./replay.ts";

/** Most endpoints besides the primary endpoint: every commit of an event reads them. */
export const FURTHER_ENDPOINTS_MAX = 100;

/** A changed endpoint. `secret` is the plain text if this change generated it, otherwise null. */
export interface Configured {
  endpoint: Endpoint;
  secret: string | null;
}

/** A rotated secret. */
interface Rotated {
  /** Null: the secret is the customer's, who has no primary endpoint. */
  endpoint: Endpoint | null;
  secret: string;
}

/** Columns that hold secrets, of a customer and of a further endpoint. */
type Secrets = Pick<Customer, "secret" | "previousSecret" | "previousSecretUntil">;

/** The records that a change is based on. The customer is read before its endpoints, so that its version covers them. */
interface CustomerEndpoints {
  customer: Customer;
  endpoints: readonly Endpoint[];
}

/**
 * Creates the primary endpoint, or changes and activates it. `secret` sets the customer's secret. Without `secret`
 * the secret is kept or, if it was never shown, generated and returned. Throws 400 on `url`, 409 `WEBHOOK_DUPLICATE`.
 */
export async function setWebhook(
  deps: With<"membership" | "sealer">,
  customerId: CustomerId,
  wanted: SetWebhook,
): Promise<Configured> {
  requireAddress(deps, wanted.url);
  const configured = await change(deps, async () => {
    const { customer, endpoints } = await standingOf(deps, customerId);
    const now = deps.clock.now();
    const before = endpoints.find(({ kind }) => kind === "primary");
    const endpoint: Endpoint = {
      ...(before ?? newEndpoint(deps, customerId, "primary")),
      url: wanted.url,
      events: unique(wanted.events),
      active: true,
      ...maxInFlightOf(wanted),
      ...goneSinceOf(before, wanted.url),
      updatedAt: now,
    };
    refuseDuplicate(endpoint, endpoints);
    const given = wanted.secret ?? "";
    const generated = given === "" && !customer.secretKnown ? newSigningSecret(deps.random) : null;
    const secret = generated ?? given;
    const known = secret === "" ? {} : { ...sealed(deps, secret, customerSecretPlace(customerId)), secretKnown: true };
    const transaction = [updateCustomer(customer, known, now), save(before, endpoint)];
    return { transaction, value: { endpoint, secret: generated } };
  });
  await waitForSenders(deps, deps.membership.others());
  return configured;
}

/**
 * Creates a further endpoint with its own secret: the caller's, or a generated one that is returned. A repeat
 * returns the first id. Throws 400 on `url` and beyond 100 endpoints, 409 `WEBHOOK_DUPLICATE`.
 */
export function createWebhook(
  deps: With<"sealer">,
  request: IdempotentRequest,
  customerId: CustomerId,
  wanted: CreateWebhook,
) {
  requireAddress(deps, wanted.url);
  return idempotent<Configured>(deps, request, async () => {
    const { customer, endpoints } = await standingOf(deps, customerId);
    if (endpoints.filter(({ kind }) => kind === "extra").length >= FURTHER_ENDPOINTS_MAX) {
      const message = `There are ${FURTHER_ENDPOINTS_MAX} further endpoints, the most there can be; delete one first.`;
      throw new ApiError("VALIDATION_ERROR", message);
    }
    const blank = newEndpoint(deps, customerId, "extra");
    const generated = (wanted.secret ?? "") === "" ? newSigningSecret(deps.random) : null;
    const endpoint: Endpoint = {
      ...blank,
      name: wanted.name ?? null,
      url: wanted.url,
      events: unique(wanted.events),
      ...maxInFlightOf(wanted),
      ...sealed(deps, generated ?? wanted.secret ?? "", endpointSecretPlace(blank.id)),
    };
    refuseDuplicate(endpoint, endpoints);
    const transaction = [updateCustomer(customer, {}, endpoint.createdAt), save(undefined, endpoint)];
    return { transaction, value: { endpoint, secret: generated }, result: endpoint.id };
  });
}

/**
 * Changes the given fields of an endpoint. `secret` of the primary endpoint sets its customer's. `active: false` pauses it,
 * which stops its replay, and cancels its pending deliveries, after the response if the client has `gone`. Throws 404
 * `WEBHOOK_NOT_FOUND`, 400 on `url`, 409 `WEBHOOK_DUPLICATE`.
 */
export async function updateWebhook(
  deps: With<"membership" | "sealer">,
  customerId: CustomerId,
  id: string,
  wanted: UpdateWebhook,
  gone: AbortSignal,
): Promise<Endpoint> {
  if (wanted.url !== undefined) requireAddress(deps, wanted.url);
  const { endpoint, paused } = await change(deps, async () => {
    const { customer, endpoints } = await standingOf(deps, customerId);
    const before = oneOf(endpoints, id);
    const now = deps.clock.now();
    const secret = wanted.secret ?? "";
    const own = secret !== "" && before.kind === "extra" ? sealed(deps, secret, endpointSecretPlace(before.id)) : {};
    const theirs =
      secret !== "" && before.kind === "primary"
        ? { ...sealed(deps, secret, customerSecretPlace(customerId)), secretKnown: true }
        : {};
    const after: Endpoint = {
      ...before,
      ...own,
      url: wanted.url ?? before.url,
      events: wanted.events === undefined ? before.events : unique(wanted.events),
      name: wanted.name === undefined ? before.name : wanted.name,
      active: wanted.active ?? before.active,
      ...maxInFlightOf(wanted),
      ...goneSinceOf(before, wanted.url),
      updatedAt: now,
    };
    refuseDuplicate(after, endpoints);
    const paused = before.active && !after.active;
    const stopped = paused ? await stopWithEndpoint(deps, before) : [];
    const transaction = [updateCustomer(customer, theirs, now), save(before, after), ...stopped];
    return { transaction, value: { endpoint: after, paused } };
  });
  await waitForSenders(deps, deps.membership.others());
  if (paused) await cancelDeliveriesOf(deps, endpoint.id, gone);
  return endpoint;
}

/**
 * Deletes an endpoint and cancels its pending deliveries; the customer's secret stays. Returns the id. Throws 404
 * `WEBHOOK_NOT_FOUND` or, for the primary endpoint, `WEBHOOK_NOT_CONFIGURED`.
 */
export async function deleteWebhook(
  deps: With<"membership">,
  customerId: CustomerId,
  target: EndpointRef,
  gone: AbortSignal,
): Promise<EndpointId> {
  const id = await change(deps, async () => {
    const { customer, endpoints } = await standingOf(deps, customerId);
    const endpoint = oneOf(endpoints, target);
    const removed: Operation[] = [
      { op: "delete", table: "endpoints", where: { id: endpoint.id } },
      { op: "delete", table: "replays", where: { endpointId: endpoint.id } },
    ];
    return { transaction: [updateCustomer(customer, {}, deps.clock.now()), ...removed], value: endpoint.id };
  });
  await waitForSenders(deps, deps.membership.others());
  await cancelDeliveriesOf(deps, id, gone);
  return id;
}

/**
 * Generates and returns a new secret, for the primary endpoint the customer's, which signs callbacks also without that endpoint. The old
 * secret also signs for `graceSeconds` of real time. A repeat returns the endpoint's id, or an empty text. Throws 404 `WEBHOOK_NOT_FOUND`.
 */
export async function rotateSecret(
  deps: With<"membership" | "sealer">,
  request: IdempotentRequest,
  customerId: CustomerId,
  { target, graceSeconds }: { target: EndpointRef; graceSeconds: number },
) {
  const rotated = await idempotent<Rotated>(deps, request, async () => {
    const { customer, endpoints } = await standingOf(deps, customerId);
    const before = target === null ? endpoints.find(({ kind }) => kind === "primary") : oneOf(endpoints, target);
    const now = deps.clock.now();
    const secret = newSigningSecret(deps.random);
    const grace = (old: string | null): Partial<Secrets> =>
      graceSeconds === 0 || old === null
        ? {}
        : { previousSecret: old, previousSecretUntil: deps.clock.real() + graceSeconds * 1_000 };
    if (before?.kind === "extra") {
      const own = { ...sealed(deps, secret, endpointSecretPlace(before.id)), ...grace(before.secret) };
      const endpoint = { ...before, ...own, updatedAt: now };
      const transaction = [updateCustomer(customer, {}, now), save(before, endpoint)];
      return { transaction, value: { endpoint, secret }, result: endpoint.id };
    }
    const shown = customer.secretKnown ? customer.secret : null;
    const theirs = { ...sealed(deps, secret, customerSecretPlace(customerId)), ...grace(shown), secretKnown: true };
    const endpoint = before === undefined ? null : { ...before, updatedAt: now };
    const saved = endpoint === null ? [] : [save(before, endpoint)];
    const transaction = [updateCustomer(customer, theirs, now), ...saved];
    return { transaction, value: { endpoint, secret }, result: endpoint?.id ?? "" };
  });
  await waitForSenders(deps, deps.membership.others());
  return rotated;
}

async function standingOf({ store }: Deps, customerId: CustomerId): Promise<CustomerEndpoints> {
  const customer = await findCustomer(store.db, customerId);
  if (customer === null) throw new Error(`the customer ${customerId} of a key is gone`);
  return { customer, endpoints: await listWebhooks(store.db, customerId) };
}

function oneOf(endpoints: readonly Endpoint[], target: EndpointRef): Endpoint {
  const found = endpoints.find(({ id, kind }) => (target === null ? kind === "primary" : id === target));
  if (found === undefined) throw missing(target);
  return found;
}

/** Every change of an endpoint increments the customer's version, so that two changes conflict. */
function updateCustomer(customer: Customer, set: Partial<Customer>, now: number): Operation {
  const { id, version } = customer;
  return { op: "update", table: "customers", id, version, set: { ...set, updatedAt: now } };
}

function save(before: Endpoint | undefined, after: Endpoint): Operation {
  if (before === undefined) return { op: "insert", table: "endpoints", record: after };
  const { id, version } = before;
  return { op: "update", table: "endpoints", id, version, set: difference(before, after) };
}

function newEndpoint(deps: Deps, customerId: CustomerId, kind: Endpoint["kind"]): Endpoint {
  const now = deps.clock.now();
  return {
    id: deps.newId("wh"),
    version: 1,
    customerId,
    kind,
    name: null,
    url: "",
    events: [],
    active: true,
    maxInFlight: null,
    secret: null,
    previousSecret: null,
    previousSecretUntil: null,
    goneSince: null,
    createdAt: now,
    updatedAt: now,
  };
}

/** The requested `maxInFlight`; empty if it was not given. */
function maxInFlightOf({ maxInFlight }: { maxInFlight?: number }): { maxInFlight?: number } {
  return maxInFlight === undefined ? {} : { maxInFlight };
}

/** Another URL is another receiver: the mark of the former one ends. */
function goneSinceOf(before: Endpoint | undefined, url: string | undefined): { goneSince?: null } {
  return url === undefined || url === before?.url ? {} : { goneSince: null };
}

/** A secret that replaces all others at once: it ends a rotation's grace period. */
function sealed({ sealer }: With<"sealer">, secret: string, place: string): Secrets {
  return { secret: sealer.seal(secret, place), previousSecret: null, previousSecretUntil: null };
}

function requireAddress({ settings }: Deps, url: string): void {
  const problem = checkAddress(url, settings.webhookAllow);
  if (problem !== null) throw invalidField("url", problem);
}

/** Refuses a second active endpoint with the same URL and events. Paused endpoints do not count. */
function refuseDuplicate(endpoint: Endpoint, endpoints: readonly Endpoint[]): void {
  const meant = meaningOf(endpoint);
  const other = endpoints.find((one) => one.active && one.id !== endpoint.id && meaningOf(one) === meant);
  if (!endpoint.active || other === undefined) return;
  const message = `the endpoint ${other.id} gets the same events at the same URL already; change, pause or delete that one`;
  throw refusedField("WEBHOOK_DUPLICATE", "url", message);
}

/** The key that duplicate endpoints share: the normalized URL and the set of events. */
function meaningOf({ url, events }: Endpoint): string {
  const set = events.includes("*") ? ["*"] : [...events].sort();
  return `${new URL(url).href} ${set.join(" ")}`;
}

function unique<Item>(items: readonly Item[]): Item[] {
  return [...new Set(items)];
}
