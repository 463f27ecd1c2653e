/** The customers: random requests to the service, and every response or its absence. */

import type { CustomerList, Delivery, Message, SendMessage, Webhook } from "../../sdk/wire.ts";
import type { SimulatedClock } from "../support/clock.ts";
import type { Chance } from "./chance.ts";
import { doMore } from "./more.ts";
import { RECEIVERS, receiverUrl } from "./network.ts";
import type { Answer, Request } from "./service.ts";

/** A request and its result. */
export interface Call {
  order: number;
  /** Position in the run at which it ended. */
  endedOrder: number;
  at: number;
  method: Request["method"];
  path: string;
  customer: string;
  body: unknown;
  idempotencyKey: string | null;
  /** False if no process listened: the request certainly changed nothing. */
  reached: boolean;
  /** Null without a response: the request may have been carried out or not. */
  status: number | null;
  answer: Envelope | null;
}

export interface Envelope {
  success: boolean;
  data?: unknown;
  error?: { code: string; message: string };
}

/** A message that a customer sends, and the calls it made to send it. `tag` is its `externalMessageId`. */
export interface SendIntent {
  tag: string;
  customer: string;
  body: SendMessage;
  idempotencyKey: string | null;
  calls: Call[];
}

export interface Customer {
  name: string;
  key: string;
  numbers: string[];
  /** Signs the deliveries of the primary endpoint and callbacks. */
  secret: string;
  endpoints: { id: string; url: string; secret: string; isStatic: boolean; kind: "primary" | "extra" }[];
}

export interface ClientParts {
  clock: SimulatedClock;
  chance: Chance;
  order(): number;
  /** Resolves with null if the process died before it responded, and undefined if no process ran. */
  ask(request: Request): Promise<Answer | null | undefined>;
}

/** The keys of the first customer and of the admin, from the settings. */
export const FIRST_KEY = `tb_${"f".repeat(36)}`;
export const ADMIN_KEY = `tb_${"a".repeat(36)}`;

/** Settings of a scripted carrier's instance; nothing connects to it. */
const CARRIER = { host: "carrier.example", port: 2775, systemId: "sim", password: "sim", bindMode: "transceiver" };

/** Numbers of the scripted carriers' phones; the sandbox has its own table. */
const PHONES = ["+15551230001", "+15551230002", "+15551230003", "+15551230004", "someone@example.com"];
const SANDBOX_PHONES = [..."0123456789"]
  .map((end) => `+1500555010${end}`)
  .concat(["0110", "0111", "0112", "0114", "0116"].map((end) => `+1500555${end}`));

/** All customers of a run. Each act resolves once its call was answered or cut off. */
export class Clients {
  readonly calls: Call[] = [];
  readonly intents: SendIntent[] = [];
  readonly customers: Customer[] = [];
  readonly #parts: ClientParts;
  readonly #phones: readonly string[];
  readonly #open = new Set<Promise<unknown>>();

  constructor(parts: ClientParts, kind: "scripted" | "sandbox") {
    this.#parts = parts;
    this.#phones = kind === "sandbox" ? SANDBOX_PHONES : PHONES;
  }

  /** Contacts of the customers. */
  get phones(): readonly string[] {
    return this.#phones;
  }

  /** Numbers of all customers. */
  get numbers(): string[] {
    return this.customers.flatMap(({ numbers }) => numbers);
  }

  /** Calls under way. */
  get underWay(): number {
    return this.#open.size;
  }

  /** Creates customers, numbers, keys and endpoints, in a life without faults. */
  async setUp(): Promise<void> {
    const { chance } = this.#parts;
    const first: Customer = { name: "first", key: FIRST_KEY, numbers: ["+15005550001"], secret: "", endpoints: [] };
    await this.#configure(first);
    if (chance.flip(0.5)) await this.#configure(await this.#secondCustomer());
    if (this.#phones !== SANDBOX_PHONES && chance.flip(0.7)) await this.#setRoutes();
  }

  /** Two further carriers, and routes to them for every customer. */
  async #setRoutes(): Promise<void> {
    const { chance } = this.#parts;
    const admin = { name: "admin", key: ADMIN_KEY };
    const ids: string[] = [];
    for (const name of ["First carrier", "Second carrier"]) {
      const body = { name, provider: "smpp", config: CARRIER };
      ids.push((await this.#must<{ id: string }>(admin, "POST", "/v1/admin/instances", body)).id);
    }
    const listed = await this.#must<CustomerList>(admin, "GET", "/v1/admin/customers", undefined);
    for (const { id } of listed.customers) {
      const named = chance.flip(0.2) ? ids.slice(0, 1) : chance.flip(0.5) ? ids : ids.toReversed();
      const prefix = chance.pick(["+", "+1", "+1555123000"]);
      const routes = named.map((instanceId) => ({ prefix, instanceId }));
      await this.#must(admin, "PUT", `/v1/admin/customers/${id}/routes`, routes);
    }
  }

  async #secondCustomer(): Promise<Customer> {
    const admin = { name: "admin", key: ADMIN_KEY };
    const { id } = await this.#must<{ id: string }>(admin, "POST", "/v1/admin/customers", { name: "Second" });
    const numbers = ["+15005550011", "+15005550012"];
    for (const phoneNumber of numbers) {
      const body = { phoneNumber, provider: "sandbox" };
      await this.#must(admin, "POST", `/v1/admin/customers/${id}/numbers`, body);
    }
    const body = { name: "second", customerId: id };
    const { key } = await this.#must<{ key: string }>(admin, "POST", "/v1/admin/keys", body);
    return { name: "second", key, numbers, secret: "", endpoints: [] };
  }

  async #configure(customer: Customer): Promise<void> {
    const { chance } = this.#parts;
    const secret = `secret of ${customer.name}`;
    customer.secret = secret;
    const url = receiverUrl("steady", `${customer.name}/primary`);
    const primary = await this.#must<Webhook>(customer, "PUT", "/v1/webhooks", { url, events: ["*"], secret });
    customer.endpoints.push({ id: primary.id, url, secret, isStatic: true, kind: "primary" });
    for (const name of RECEIVERS) {
      if (name === "steady" || !chance.flip(0.35)) continue;
      const own = `secret of ${customer.name} at ${name}`;
      const events = name === "dead" ? ["message.failed", "message.read", "message.fallback"] : ["*"];
      const extra = { url: receiverUrl(name, `${customer.name}/extra`), events, secret: own };
      const { id } = await this.#must<Webhook>(customer, "POST", "/v1/webhooks", extra);
      customer.endpoints.push({ id, url: extra.url, secret: own, isStatic: chance.flip(0.6), kind: "extra" });
    }
    this.customers.push(customer);
  }

  async #must<Data>(by: { name: string; key: string }, method: Request["method"], path: string, body: unknown) {
    const call = await this.call(by, method, path, body);
    if (call.status === null || call.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(call)}`);
    return call.answer?.data as Data;
  }

  /** Makes a call; resolves with its record when the call has ended. */
  call(
    by: { name: string; key: string },
    method: Request["method"],
    path: string,
    body?: unknown,
    idempotencyKey: string | null = null,
  ): Promise<Call> {
    const made = this.#call(by, method, path, body, idempotencyKey);
    this.#open.add(made);
    void made.finally(() => this.#open.delete(made));
    return made;
  }

  async #call(
    by: { name: string; key: string },
    method: Request["method"],
    path: string,
    body: unknown,
    idempotencyKey: string | null,
  ): Promise<Call> {
    const { clock, order } = this.#parts;
    const call: Call = {
      order: order(),
      endedOrder: Number.POSITIVE_INFINITY,
      at: clock.now(),
      method,
      path,
      customer: by.name,
      body,
      idempotencyKey,
      reached: true,
      status: null,
      answer: null,
    };
    this.calls.push(call);
    const headers = idempotencyKey === null ? {} : { "idempotency-key": idempotencyKey };
    const answer = await this.#parts.ask({
      method,
      path,
      key: by.key,
      headers,
      ...(body === undefined ? {} : { body }),
    });
    call.endedOrder = order();
    if (answer === undefined) call.reached = false;
    if (answer == null) return call;
    call.status = answer.status;
    call.answer = JSON.parse(answer.text) as Envelope;
    return call;
  }

  /** Performs a random act of a customer. */
  act(): void {
    const { chance } = this.#parts;
    const customer = chance.pick(this.customers);
    const act = chance.weighted({
      send: 44,
      burst: 6,
      repeat: 10,
      cancel: 7,
      retry: 7,
      erase: 4,
      look: 12,
      configure: 4,
      redeliver: 4,
      replay: 1,
      test: 2,
      more: 26,
    });
    if (act === "burst") {
      for (let count = chance.between(2, 10); count > 0; count -= 1) void this.#send(customer);
    } else void this.#one(act, customer);
  }

  async #one(act: string, customer: Customer): Promise<void> {
    const message = this.#someMessage(customer, act);
    switch (act) {
      case "send":
        return this.#send(customer);
      case "repeat":
        return this.#repeat();
      case "configure":
        return this.#reconfigure(customer);
      case "redeliver":
        return this.#redeliver(customer);
      case "replay":
        return this.#replay(customer);
      case "test":
        await this.call(customer, "POST", "/v1/webhooks/test");
        return;
      case "more":
        return doMore(this, customer, {
          chance: this.#parts.chance,
          isSandbox: this.#phones === SANDBOX_PHONES,
          message,
        });
      default:
        if (message !== null) await this.#touch(act, customer, message);
    }
  }

  async #touch(act: string, customer: Customer, id: string): Promise<void> {
    const { chance } = this.#parts;
    const path = `/v1/messages/${id}`;
    if (act === "cancel") await this.call(customer, "DELETE", `${path}/schedule`);
    else if (act === "erase") await this.call(customer, "DELETE", path);
    else if (act === "retry") {
      const body = chance.flip(0.5) ? { mayDuplicate: true } : {};
      await this.call(customer, "POST", `${path}/retry`, body, chance.flip(0.3) ? `retry ${id}` : null);
    } else await this.call(customer, "GET", path);
  }

  /** A message that the customer knows; for a cancellation mostly a scheduled message. */
  #someMessage(customer: Customer, act: string): string | null {
    const { chance } = this.#parts;
    const own = this.intents.filter((intent) => intent.customer === customer.name && idOf(intent) !== null);
    const scheduled = own.filter(({ body }) => body.scheduledAt !== undefined);
    const candidates = act === "cancel" && scheduled.length > 0 && chance.flip(0.8) ? scheduled : own;
    return candidates.length === 0 ? null : idOf(chance.pick(candidates));
  }

  async #send(customer: Customer): Promise<void> {
    const { chance, clock } = this.#parts;
    const tag = `intent ${this.intents.length + 1}`;
    const body: SendMessage = {
      to: chance.pick(this.#phones),
      content: { text: `Text of ${tag}` },
      externalMessageId: tag,
      ...(chance.flip(0.3) ? { from: chance.pick(customer.numbers) } : {}),
      ...(chance.flip(0.2) ? { callbackUrl: this.#callbackUrl(customer) } : {}),
      ...(chance.flip(0.2) ? { metadata: { wish: tag, nested: { list: [1, null] } } } : {}),
      ...(chance.flip(0.4) ? { routing: this.#routing() } : {}),
      ...(chance.flip(0.2) ? { scheduledAt: new Date(clock.now() + this.#aheadMs()).toISOString() } : {}),
    };
    const idempotencyKey = chance.flip(0.6) ? `key of ${tag}` : null;
    const intent: SendIntent = { tag, customer: customer.name, body, idempotencyKey, calls: [] };
    this.intents.push(intent);
    await this.#ask(intent);
    // An impatient customer sends the same request twice at once.
    if (idempotencyKey !== null && chance.flip(0.15)) await this.#ask(intent);
  }

  #aheadMs(): number {
    return this.#parts.chance.flip(0.7) ? this.#parts.chance.between(1, 30_000) : 3_600_000;
  }

  #routing(): NonNullable<SendMessage["routing"]> {
    const { chance } = this.#parts;
    return {
      ...(chance.flip(0.6)
        ? { preference: chance.pick([["imessage"], ["sms", "imessage"], ["sms", "imessage"], ["imessage", "sms"]]) }
        : {}),
      ...(chance.flip(0.3) ? { fallback: false } : {}),
      ...(chance.flip(0.6) ? { fallbackAfterSeconds: chance.between(10, 90) } : {}),
    };
  }

  #callbackUrl(customer: Customer): string {
    const primary = customer.endpoints[0]?.url ?? "";
    const { chance } = this.#parts;
    return chance.flip(0.1) ? primary : receiverUrl(chance.pick(RECEIVERS), `${customer.name}/callback`);
  }

  async #ask(intent: SendIntent): Promise<void> {
    const by = this.#customer(intent.customer);
    const asked = this.call(by, "POST", "/v1/messages", intent.body, intent.idempotencyKey);
    const call = this.calls.at(-1);
    if (call !== undefined) intent.calls.push(call);
    await asked;
  }

  #customer(name: string): Customer {
    const customer = this.customers.find((one) => one.name === name);
    if (customer === undefined) throw new Error(`there is no customer ${name}`);
    return customer;
  }

  /** Repeats a request without a response, and sometimes a request with a response. */
  async #repeat(): Promise<void> {
    const safe = this.intents.filter((intent) => intent.idempotencyKey !== null);
    const open = safe.filter((intent) => !isAnswered(intent));
    const { chance } = this.#parts;
    const candidates = open.length > 0 && chance.flip(0.8) ? open : safe;
    if (candidates.length > 0) await this.#ask(chance.pick(candidates));
  }

  /** Repeats every request that can safely be repeated and got no response. Returns whether there was any. */
  async insist(): Promise<boolean> {
    const open = this.intents.filter((intent) => intent.idempotencyKey !== null && !isAnswered(intent));
    await Promise.all(open.map((intent) => this.#ask(intent)));
    return open.length > 0;
  }

  async #reconfigure(customer: Customer): Promise<void> {
    const { chance } = this.#parts;
    const loose = customer.endpoints.filter(({ isStatic }) => !isStatic);
    if (loose.length === 0) return;
    const endpoint = chance.pick(loose);
    const path = `/v1/webhooks/${endpoint.id}`;
    const change = chance.weighted({ pause: 4, resume: 5, move: 2, remove: 1 });
    if (change === "remove") await this.call(customer, "DELETE", path);
    else if (change === "move") {
      const url = receiverUrl(chance.pick(RECEIVERS), `${customer.name}/moved`);
      await this.call(customer, "PATCH", path, { url });
    } else await this.call(customer, "PATCH", path, { active: change === "resume" });
  }

  async #redeliver(customer: Customer): Promise<void> {
    const listed = await this.call(customer, "GET", "/v1/webhooks/deliveries?limit=20");
    const { deliveries = [] } = (listed.answer?.data ?? {}) as { deliveries?: Delivery[] };
    if (deliveries.length === 0) return;
    const { id } = this.#parts.chance.pick(deliveries);
    await this.call(customer, "POST", `/v1/webhooks/deliveries/${id}/retry`, {});
  }

  async #replay(customer: Customer): Promise<void> {
    const { chance, clock } = this.#parts;
    const { id } = chance.pick(customer.endpoints);
    const since = new Date(clock.now() - chance.between(1_000, 600_000)).toISOString();
    await this.call(customer, "POST", `/v1/webhooks/${id}/replay`, { since }, chance.flip(0.5) ? `replay ${id}` : null);
  }
}

/** Whether the customer got an outcome. */
function isAnswered(intent: SendIntent): boolean {
  return intent.calls.some(({ status }) => status !== null && status < 500);
}

/** The id of the message of a request, if a response has named it. */
export function idOf(intent: SendIntent): string | null {
  const accepted = intent.calls.find(({ status }) => status === 200 || status === 202);
  return (accepted?.answer?.data as Message | undefined)?.id ?? null;
}
